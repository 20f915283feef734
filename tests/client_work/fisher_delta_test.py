# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""One client's <delta, fisher> against NumPy; fed_fish_test has more."""

from fedfish_tff import client_work
from fedfish_tff import finite_checks
from fedfish_tff import models
from tests import client_updates
from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_UNIFORM = tff.learning.ClientWeighting.UNIFORM
_NUM_EXAMPLES = tff.learning.ClientWeighting.NUM_EXAMPLES


def _build(*, rate=0.3, **kwargs):
  return client_work.build_fisher_delta_update(
    tff.learning.optimizers.build_sgdm(rate), **kwargs
  )


class FisherDeltaTest(parameterized.TestCase):
  @parameterized.parameters((1, _UNIFORM), (3, _NUM_EXAMPLES))
  def test_equals_algorithm_2(self, epochs, weighting):
    batches = ref.make_batches(10, 0)
    result = client_updates.run_update(
      _build(local_epochs=epochs, client_weighting=weighting),
      batches,
      epochs=epochs,
    )
    start = ref.initial_weights()
    trained = ref.train(start, batches, rate=0.3, epochs=epochs)
    tolerance.assert_all_close(
      result.update['delta'],
      [s - e for s, e in zip(start, trained)],
      least_scale=max(np.abs(s).max() for s in start),
    )
    for found, expected in zip(
      result.update['fisher'], ref.fisher(trained, batches), strict=True
    ):
      np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-7)
    # |D_i| counts each example once, however many epochs.
    self.assertEqual(result.weight, 1.0 if weighting is _UNIFORM else 10.0)
    # Metrics are of training alone.
    self.assertEqual(np.sum(result.metrics['num_examples']), 10 * epochs)

  def test_products_that_overflow_are_seen(self):
    start = [np.zeros_like(w) for w in ref.initial_weights()]
    start[2] = ref.initial_weights()[2]
    update_fn = _build(rate=0.0)
    run = client_updates.trace(
      client_updates.in_first_round(update_fn), weights=start
    )
    seen = 0
    for scale in np.logspace(18, 21, 13):
      # Gradients of this size have squares near float32's largest number,
      # which times |D_i| = 10 exceed it.
      batches = [(x * np.float32(scale), y) for x, y in ref.make_batches(10, 0)]
      result = run(ref.to_dataset(batches))
      finite = bool(finite_checks.all_finite(result.update))
      products = 10 * np.float64(result.update['fisher'][0])
      overflows = products.max() > np.finfo(np.float32).max
      self.assertEqual(
        bool(finite_checks.all_finite(result.also_finite)), not overflows
      )
      seen += finite and overflows
    self.assertGreater(seen, 0)

  def test_single_examples_refuse_batch_normalisation(self):
    # It would leave the layers before it without Fisher information.
    def model():
      layers = [
        tf.keras.layers.Dense(2),
        tf.keras.layers.BatchNormalization(),
        tf.keras.layers.Dense(ref.NUM_CLASSES),
      ]
      return tff.learning.models.from_keras_model(
        tf.keras.Sequential([tf.keras.Input([ref.NUM_FEATURES]), *layers]),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        input_spec=ref.input_spec(),
      )

    bound = models.bind_model(model)
    weights = models.flatten_weights(
      tff.learning.models.ModelWeights.from_model(model())
    )
    update_fn = _build(fisher_estimator=client_work.FisherEstimator.PER_EXAMPLE)
    run = tf.function(
      lambda dataset: client_updates.in_first_round(update_fn)(
        bound, weights, dataset
      )
    )
    with self.assertRaisesRegex(
      tf.errors.InvalidArgumentError, 'must be BATCH_GRADIENT'
    ):
      run(ref.to_dataset(ref.make_batches(10, 0)))

  def test_partial_epochs_are_refused(self):
    examples = ref.to_dataset(ref.make_batches(7, 0)).unbatch()
    for dataset, message in (
      (examples.batch(4), 'local_epochs=3'),
      # 21 examples in 6 batches, of which the first 2 hold 8.
      (examples.repeat(3).batch(4), 'straddle'),
    ):
      with self.assertRaisesRegex(tf.errors.InvalidArgumentError, message):
        client_updates.run_update(_build(local_epochs=3), dataset)
