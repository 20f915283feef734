# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fine-tuning strategies through the package's processes, against NumPy."""

from unittest import mock

from fedfish_tff import algorithms
from fedfish_tff import models
from tests import numpy_reference as ref
from tests import rounds

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_TEMPERATURE = 0.5
_RATE, _SERVER_RATE, _EPOCHS = 0.1, 0.7, 2
_COHORTS = ('ab', 'cd')
# The reference's network: an extractor of its first layer, with tanh.
_FEATURES = models.FeatureMap(
  input_spec=tf.TensorSpec([None, ref.NUM_FEATURES], tf.float32),
  num_features=ref.NUM_HIDDEN,
  initial_weights=ref.initial_weights()[:2],
  apply=lambda weights, x: tf.tanh(x @ weights[0] + weights[1]),
)
_MODEL = models.create_feature_classifier(
  _FEATURES, num_classes=ref.NUM_CLASSES, temperature=_TEMPERATURE
)
_START = tff.learning.models.ModelWeights(ref.initial_weights(), ())
_TRAINED = {
  models.FineTuning.FT: (True, True, True, True),
  models.FineTuning.FT_LP: (False, False, True, True),
  models.FineTuning.FT_FEAT: (True, True, False, False),
}
_METHODS = {
  'fed_avg': (algorithms.build_fed_avg, {}, rounds.fed_avg),
  'fed_fish': (
    algorithms.build_fed_fish,
    {'local_epochs': _EPOCHS},
    rounds.fed_fish,
  ),
}


def _expected(trained, method):
  """Returns the weights after the rounds, by NumPy."""
  whole_gradients = ref.gradients

  def gradients(weights, x, y):
    """Gradients by the divided logits; zero for frozen tensors."""
    w1, b1, w2, b2 = weights
    cold = w1, b1, w2 / _TEMPERATURE, b2 / _TEMPERATURE
    d1, e1, d2, e2 = whole_gradients(cold, x, y)
    chained = d1, e1, d2 / _TEMPERATURE, e2 / _TEMPERATURE
    return tuple(g if t else 0 * g for g, t in zip(chained, trained))

  with mock.patch.object(
    ref, 'gradients', autospec=True, side_effect=gradients
  ):
    *_, (weights, _) = rounds.reference(
      ref.initial_weights(),
      **method(rate=_RATE, server_rate=_SERVER_RATE, epochs=_EPOCHS),
      cohorts=_COHORTS,
    )
  return weights


class FineTuningTest(parameterized.TestCase):
  @parameterized.parameters(
    (models.FineTuning.FT, 'fed_avg'),
    (models.FineTuning.FT_LP, 'fed_fish'),
    (models.FineTuning.FT_FEAT, 'fed_avg'),
  )
  def test_rounds_equal_numpy_and_leave_frozen_tensors_alone(
    self, strategy, method
  ):
    build, options, numpy_method = _METHODS[method]
    trained = models.fine_tuned_tensors(_MODEL, strategy)
    self.assertEqual(trained, _TRAINED[strategy])
    partitioned = models.partition_model(_MODEL, trained, start=_START)
    run = rounds.Rounds(
      build(
        partitioned.model,
        rounds.sgd(_RATE),
        rounds.sgd(_SERVER_RATE),
        **options,
      ),
      epochs=_EPOCHS,
    )
    for cohort in _COHORTS:
      run.run(cohort)
    weights = run.process.get_model_weights(run.state)
    with self.subTest('frozen tensors are no weights of the process'):
      self.assertEqual(
        [w.shape for w in weights.trainable],
        [w.shape for w, t in zip(_START.trainable, trained) if t],
      )
    merged = partitioned.merge(weights).trainable
    expected = _expected(trained, numpy_method)
    for actual, new, old, moves in zip(
      merged, expected, _START.trainable, trained, strict=True
    ):
      if moves:
        self.assertGreater(np.abs(new - old).max(), 1e-2)
        # A few steps of float32, as in the processes' own tests.
        np.testing.assert_allclose(actual, new, rtol=1e-5, atol=1e-5)
      else:
        np.testing.assert_array_equal(actual, old)
