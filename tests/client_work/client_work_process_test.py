# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The shared part of client work, around an update made for the test."""

from fedfish_tff import client_work
from fedfish_tff import errors
from fedfish_tff.models import model_functions
from tests import numpy_reference as ref

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


def _count_update(bound, weights, dataset, round_number):
  """An update that tells what it was given: (batches, round, first weight)."""
  initial = bound.unfinalized_metrics(bound.initial_metrics())
  batches = dataset.reduce(0.0, lambda n, _: n + 1.0)
  return client_work.ClientUpdate(
    update=(
      batches,
      tf.cast(round_number, tf.float32),
      weights.trainable[0][0, 0] / (batches - 3.0),
    ),
    weight=tf.constant(2.0),
    metrics=initial,
  )


class BuildClientWorkTest(absltest.TestCase):
  def test_updates_rounds_and_exclusion(self):
    process = client_work.build_client_work(
      ref.create_functional_model(), _count_update
    )
    # The third client has three batches and divides by zero.
    clients = [ref.make_batches(n, 0) for n in (4, 8, 12)]
    data = [ref.to_dataset(c) for c in clients]
    start = ref.initial_weights()
    weights = [tff.learning.models.ModelWeights(start, ())] * 3
    state = process.initialize()
    for round_number in (1, 2):
      output = process.next(state, weights, data)
      state = output.state
      first, second, third = output.result
      np.testing.assert_allclose(
        first.update, [1, round_number, start[0][0, 0] / -2], rtol=1e-6
      )
      np.testing.assert_allclose(
        second.update, [2, round_number, -start[0][0, 0]], rtol=1e-6
      )
      np.testing.assert_array_equal(third.update, [0, 0, 0])
      self.assertEqual(
        [r.update_weight for r in output.result], [2.0, 2.0, 0.0]
      )
      self.assertEqual(output.measurements['excluded_clients'], 1)

  def test_a_client_that_is_left_out_keeps_its_state(self):
    model = ref.create_functional_model()
    weights = tff.learning.models.ModelWeights(ref.initial_weights(), ())

    def update(bound, sent, client_state, dataset):
      counted = _count_update(
        bound, model_functions.flatten_weights(sent), dataset, client_state
      )
      return counted, client_state + 1

    work = client_work.build_client_state_work(
      model,
      update,
      model_type=model_functions.weights_type(model),
      client_type=tff.TensorType(np.int32),
    )
    # Three batches divide by zero.
    for num_examples, new_state, excluded in ((8, 6, 0), (12, 5, 1)):
      output = work(
        weights, 5, ref.to_dataset(ref.make_batches(num_examples, 0))
      )
      self.assertEqual(output.client_state, new_state)
      self.assertEqual(output.excluded, excluded)
      self.assertEqual(output.result.update[1], 0 if excluded else 5)
      self.assertEqual(output.result.update_weight, 0 if excluded else 2)

  def test_update_is_finite(self):
    finite = client_work.build_client_work(
      ref.create_functional_model(), _count_update
    ).build_update_is_finite()
    weights = tff.learning.models.ModelWeights(ref.initial_weights(), ())
    self.assertTrue(finite(weights, ref.to_dataset(ref.make_batches(4, 0))))
    self.assertFalse(finite(weights, ref.to_dataset(ref.make_batches(12, 0))))

  def test_weights(self):
    num_examples = tf.constant(7, tf.int64)
    weighting = tff.learning.ClientWeighting
    self.assertEqual(
      client_work.client_weight(num_examples, weighting.NUM_EXAMPLES), 7.0
    )
    self.assertEqual(
      client_work.client_weight(num_examples, weighting.UNIFORM), 1.0
    )
    for of in weighting:
      self.assertEqual(client_work.client_weight(tf.constant(0), of), 0.0)
    with self.assertRaisesRegex(
      errors.InputError, "^client_weighting must be .* UNIFORM, got 'uniform'"
    ):
      client_work.client_weight(num_examples, 'uniform')
