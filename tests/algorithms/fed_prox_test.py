# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedProx against NumPy and exact limits."""

import functools

from fedfish_tff import algorithms
from fedfish_tff import errors
from fedfish_tff.execution import contexts
from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow_federated as tff

_CLIENTS = [ref.make_batches(n, seed) for seed, n in enumerate((10, 7, 3))]
_MODELS = {
  'functional': ref.create_functional_model(),
  'variable': ref.create_variable_model,
}


def setUpModule():
  contexts.set_default_context()


def _sgd(rate):
  return tff.learning.optimizers.build_sgdm(rate)


@functools.cache
def _build(kind, strength):
  return algorithms.build_fed_prox(
    _MODELS[kind], _sgd(0.3), _sgd(0.7), proximal_strength=strength
  )


def _run(process, clients, *, epochs=2, rounds=2):
  """Runs rounds from the same weights; returns the last ones and metrics."""
  state = process.initialize()
  weights = process.get_model_weights(state)
  start = ref.initial_weights()
  if isinstance(weights.trainable, list):
    start = list(start)
  state = process.set_model_weights(
    state, tff.learning.models.ModelWeights(start, type(start)())
  )
  for _ in range(rounds):
    state, metrics = process.next(
      state, [ref.to_dataset(c, epochs=epochs) for c in clients]
    )
  return process.get_model_weights(state).trainable, metrics


class FedProxTest(parameterized.TestCase):
  def _assert_equal(self, actual, expected):
    for a, e in zip(actual, expected, strict=True):
      np.testing.assert_array_equal(a, e)

  def test_equals_numpy(self):
    self._check_equals_numpy('functional', 0.3)

  @pytest.mark.thorough
  def test_variable_model_equals_numpy(self):
    self._check_equals_numpy('variable', 2.0)

  def _check_equals_numpy(self, kind, strength):
    actual, _ = _run(_build(kind, strength), _CLIENTS)
    expected = ref.initial_weights()
    for _ in range(2):
      expected = ref.fed_avg_round(
        expected,
        _CLIENTS,
        rate=0.3,
        server_rate=0.7,
        epochs=2,
        proximal_strength=strength,
      )
    for a, e in zip(actual, expected):
      np.testing.assert_allclose(a, e, rtol=1e-5, atol=1e-5)

  @pytest.mark.thorough
  def test_without_strength_it_is_fed_avg_bit_for_bit(self):
    weights, metrics = _run(_build('functional', 0), _CLIENTS)
    expected, expected_metrics = _run(
      algorithms.build_fed_avg(_MODELS['functional'], _sgd(0.3), _sgd(0.7)),
      _CLIENTS,
    )
    self._assert_equal(weights, expected)
    self.assertEqual(metrics, expected_metrics)

  @pytest.mark.thorough
  def test_tff_still_has_the_opposite_sign(self):
    """Why TFF's own is not used; where this fails, it can be again."""
    process = tff.learning.algorithms.build_weighted_fed_prox(
      ref.create_functional_model(), 0.3, _sgd(0.3), _sgd(0.7)
    )
    actual, _ = _run(process, _CLIENTS, rounds=1)
    opposite = ref.fed_avg_round(
      ref.initial_weights(),
      _CLIENTS,
      rate=0.3,
      server_rate=0.7,
      epochs=2,
      proximal_strength=-0.3,
    )
    for a, e in zip(actual, opposite):
      np.testing.assert_allclose(a, e, rtol=1e-5, atol=1e-5)

  def test_local_training_equals_numpy(self):
    process = _build('functional', 0.3)
    weights = process.get_model_weights(process.initialize())
    trained = process.local_training(
      weights, ref.to_dataset(_CLIENTS[0], epochs=3)
    )
    alone = ref.train(
      ref.initial_weights(),
      _CLIENTS[0],
      rate=0.3,
      epochs=3,
      proximal_strength=0.3,
    )
    for a, e in zip(trained.trainable, alone, strict=True):
      tolerance.assert_close(a, e, relative=tolerance.FLOAT32_SUMS)

  @pytest.mark.thorough
  def test_too_large_a_strength_diverges_and_is_counted(self):
    process = algorithms.build_fed_prox(
      ref.create_functional_model(), _sgd(1.0), proximal_strength=100.0
    )
    weights, metrics = _run(process, _CLIENTS, epochs=60, rounds=1)
    self.assertEqual(metrics['client_work']['excluded_clients'], 3)
    self._assert_equal(weights, ref.initial_weights())

  @parameterized.parameters(-0.1, float('nan'), float('inf'))
  def test_impossible_strengths(self, strength):
    with self.assertRaisesRegex(errors.InputError, 'proximal strength must be'):
      algorithms.build_fed_prox(
        ref.create_functional_model(), _sgd(0.3), proximal_strength=strength
      )
