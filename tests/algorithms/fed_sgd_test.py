# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedSGD against NumPy, TFF's own, and central gradient descent."""

import functools

from fedfish_tff import algorithms
from fedfish_tff.execution import contexts
from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow_federated as tff

_CLIENTS = [ref.make_batches(n, seed) for seed, n in enumerate((10, 7, 3))]


def setUpModule():
  contexts.set_default_context()


def _sgd(rate):
  return tff.learning.optimizers.build_sgdm(rate)


@functools.cache
def _build():
  return algorithms.build_fed_sgd(ref.create_functional_model(), _sgd(0.5))


def _run(process, clients, rounds=2):
  state = process.initialize()
  for _ in range(rounds):
    state, metrics = process.next(state, [ref.to_dataset(c) for c in clients])
  return process.get_model_weights(state).trainable, metrics


class FedSgdTest(parameterized.TestCase):
  def test_equals_central_gradient_descent_in_numpy(self):
    actual, _ = _run(_build(), _CLIENTS, rounds=3)
    expected = ref.initial_weights()
    for _ in range(3):
      expected = ref.fed_sgd_round(expected, _CLIENTS, server_rate=0.5)
    for a, e in zip(actual, expected):
      np.testing.assert_allclose(a, e, rtol=1e-5, atol=1e-5)

  @pytest.mark.thorough
  def test_equals_tff(self):
    actual, metrics = _run(_build(), _CLIENTS)
    expected, expected_metrics = _run(
      tff.learning.algorithms.build_fed_sgd(
        ref.create_functional_model(), _sgd(0.5)
      ),
      _CLIENTS,
    )
    for a, e in zip(actual, expected):
      tolerance.assert_close(a, e, relative=tolerance.FLOAT32_SUMS)
    for name, value in expected_metrics['client_work']['train'].items():
      tolerance.assert_close(
        metrics['client_work']['train'][name],
        value,
        relative=tolerance.FLOAT32_SUMS,
      )

  @pytest.mark.thorough
  def test_variable_model_takes_the_same_step(self):
    process = algorithms.build_fed_sgd(ref.create_variable_model, _sgd(0.5))
    start = ref.initial_weights(5)
    state = process.set_model_weights(
      process.initialize(), tff.learning.models.ModelWeights(list(start), [])
    )
    state, _ = process.next(state, [ref.to_dataset(c) for c in _CLIENTS])
    expected = ref.fed_sgd_round(start, _CLIENTS, server_rate=0.5)
    for a, e in zip(process.get_model_weights(state).trainable, expected):
      tolerance.assert_close(a, e, relative=tolerance.FLOAT32_SUMS)

  def test_diverged_client_is_left_out_of_weights_and_metrics(self):
    x, y = _CLIENTS[1][0]
    broken = [(np.full_like(x, np.nan), y)]
    process = _build()
    actual, metrics = _run(process, [_CLIENTS[0], broken, []], rounds=1)
    expected, expected_metrics = _run(process, [_CLIENTS[0]], rounds=1)
    self.assertEqual(metrics['client_work']['excluded_clients'], 1)
    self.assertEqual(
      metrics['client_work']['train'], expected_metrics['client_work']['train']
    )
    for a, e in zip(actual, expected):
      np.testing.assert_array_equal(a, e)

  def test_uniform_weights_are_the_mean_over_clients(self):
    process = algorithms.build_fed_sgd(
      ref.create_functional_model(),
      _sgd(1.0),
      client_weighting=tff.learning.ClientWeighting.UNIFORM,
    )
    actual, _ = _run(process, _CLIENTS, rounds=1)
    start = ref.initial_weights()
    for i, a in enumerate(actual):
      steps = [
        ref.gradients(
          start,
          np.concatenate([x for x, _ in c]),
          np.concatenate([y for _, y in c]),
        )[i]
        for c in _CLIENTS
      ]
      tolerance.assert_close(
        a, start[i] - np.mean(steps, axis=0), relative=tolerance.FLOAT32_SUMS
      )
