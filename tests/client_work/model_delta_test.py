# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""One client's model delta, eagerly, against NumPy."""

from fedfish_tff import client_work
from fedfish_tff import models
from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_SGD = tff.learning.optimizers.build_sgdm


def _update(batches, *, epochs=1, rate=0.3, **kwargs):
  update_fn = client_work.build_model_delta_update(_SGD(rate), **kwargs)
  bound = models.bind_model(ref.create_functional_model())
  flat = models.FlatWeights(
    tuple(tf.constant(w) for w in ref.initial_weights()), ()
  )
  run = tf.function(lambda d: update_fn(bound, flat, d, tf.constant(1)))
  return run(ref.to_dataset(batches, epochs=epochs))


class ModelDeltaTest(absltest.TestCase):
  def test_equals_numpy(self):
    batches = ref.make_batches(7, 0)
    result = _update(batches, epochs=2)
    trained = ref.train(ref.initial_weights(), batches, rate=0.3, epochs=2)
    for delta, start, end in zip(
      result.update['delta'], ref.initial_weights(), trained, strict=True
    ):
      tolerance.assert_close(
        delta,
        start - end,
        relative=tolerance.FLOAT32_SUMS,
        scale=np.abs(start).max(),
      )
    # TFF counts each epoch's examples.
    self.assertEqual(result.weight, 14)

  def test_uniform_weight(self):
    uniform = tff.learning.ClientWeighting.UNIFORM
    batches = ref.make_batches(7, 0)
    self.assertEqual(_update(batches, client_weighting=uniform).weight, 1)

  def test_empty_client_weighs_nothing(self):
    for weighting in tff.learning.ClientWeighting:
      result = _update([], client_weighting=weighting)
      self.assertEqual(result.weight, 0)
      self.assertTrue(client_work.all_finite(result.update))

  def test_what_would_overflow_in_the_sum_leaves_the_client_out(self):
    # One step of finite length, which times the number of examples is not.
    batches = ref.make_batches(100, 0, batch_size=100)
    result = _update(batches, rate=3e38)
    self.assertTrue(client_work.all_finite(result.update))
    _, _, excluded, _ = client_work.leave_out_non_finite(result, result.metrics)
    self.assertEqual(excluded, 1)

  def test_other_optimizers_are_refused(self):
    with self.assertRaisesRegex(TypeError, 'client_optimizer_fn'):
      client_work.build_model_delta_update(tf.keras.optimizers.SGD(0.1))
