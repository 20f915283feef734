# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""One client's <delta, fisher>, eagerly, against NumPy."""

from fedfish_tff import client_work
from fedfish_tff import models
from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_UNIFORM = tff.learning.ClientWeighting.UNIFORM
_NUM_EXAMPLES = tff.learning.ClientWeighting.NUM_EXAMPLES


def _update(batches, *, epochs, **kwargs):
  update_fn = client_work.build_fisher_delta_update(
    tff.learning.optimizers.build_sgdm(0.3), local_epochs=epochs, **kwargs
  )
  bound = models.bind_model(ref.create_functional_model())
  flat = models.FlatWeights(
    tuple(tf.constant(w) for w in ref.initial_weights()), ()
  )

  @tf.function
  def run(dataset):
    return update_fn(bound, flat, dataset, tf.constant(1))

  return run(ref.to_dataset(batches, epochs=epochs))


class FisherDeltaTest(parameterized.TestCase):
  @parameterized.parameters((1, _UNIFORM), (3, _NUM_EXAMPLES))
  def test_equals_algorithm_2(self, epochs, weighting):
    batches = ref.make_batches(10, 0)
    result = _update(batches, epochs=epochs, client_weighting=weighting)
    start = ref.initial_weights()
    trained = ref.train(start, batches, rate=0.3, epochs=epochs)
    diagonal = ref.fisher(trained, batches)
    for i in range(len(start)):
      tolerance.assert_close(
        result.update['delta'][i],
        start[i] - trained[i],
        relative=tolerance.FLOAT32_SUMS,
        scale=np.abs(start[i]).max(),
      )
      np.testing.assert_allclose(
        result.update['fisher'][i], diagonal[i], rtol=1e-4, atol=1e-7
      )
    # |D_i| counts each example once, however many epochs.
    self.assertEqual(result.weight, 1.0 if weighting is _UNIFORM else 10.0)

  def test_metrics_are_of_training_alone(self):
    result = _update(ref.make_batches(10, 0), epochs=2)
    num_examples = result.metrics['num_examples']
    self.assertEqual(np.sum(num_examples), 20)

  def test_damping_is_added_to_every_coordinate(self):
    batches = ref.make_batches(10, 0)
    plain = _update(batches, epochs=1).update['fisher']
    damped = _update(batches, epochs=1, damping=0.5).update['fisher']
    for p, d in zip(plain, damped):
      np.testing.assert_allclose(d - p, np.full_like(p, 0.5), rtol=1e-5)

  def test_empty_client_weighs_nothing_and_is_finite(self):
    for weighting in (_UNIFORM, _NUM_EXAMPLES):
      result = _update([], epochs=1, client_weighting=weighting)
      self.assertEqual(result.weight, 0)
      self.assertTrue(client_work.all_finite(result.update))

  def test_products_that_overflow_are_seen(self):
    update_fn = client_work.build_fisher_delta_update(
      tff.learning.optimizers.build_sgdm(0.0)
    )
    bound = models.bind_model(ref.create_functional_model())
    start = [np.zeros_like(w) for w in ref.initial_weights()]
    start[2] = ref.initial_weights()[2]
    flat = models.FlatWeights(tuple(map(tf.constant, start)), ())
    run = tf.function(lambda d: update_fn(bound, flat, d, tf.constant(1)))
    seen = 0
    for scale in np.logspace(18, 21, 13):
      # Gradients of this size have squares near float32's largest number,
      # which times |D_i| = 10 exceed it.
      batches = [(x * np.float32(scale), y) for x, y in ref.make_batches(10, 0)]
      result = run(ref.to_dataset(batches))
      finite = bool(client_work.all_finite(result.update))
      products = 10 * np.float64(result.update['fisher'][0])
      overflows = products.max() > np.finfo(np.float32).max
      self.assertEqual(
        bool(client_work.all_finite(result.also_finite)), not overflows
      )
      seen += finite and overflows
    self.assertGreater(seen, 0)

  def test_partial_epochs_are_refused(self):
    update_fn = client_work.build_fisher_delta_update(
      tff.learning.optimizers.build_sgdm(0.3), local_epochs=3
    )
    bound = models.bind_model(ref.create_functional_model())
    flat = models.FlatWeights(
      tuple(tf.constant(w) for w in ref.initial_weights()), ()
    )
    run = tf.function(lambda d: update_fn(bound, flat, d, tf.constant(1)))
    with self.assertRaisesRegex(
      tf.errors.InvalidArgumentError, 'local_epochs=3'
    ):
      run(ref.to_dataset(ref.make_batches(10, 0), epochs=1).take(2))
    # 21 examples in 6 batches, of which the first 2 hold 8.
    examples = ref.to_dataset(ref.make_batches(7, 0)).unbatch()
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'straddle'):
      run(examples.repeat(3).batch(4))
