# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedAvg against TFF's own and NumPy; excluded clients are counted."""

from fedfish_tff import algorithms
from fedfish_tff.execution import contexts
from tests import numpy_reference as ref

from absl.testing import absltest
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_CLIENTS = [ref.make_batches(n, seed) for seed, n in enumerate((10, 7, 3))]
_UNIFORM = tff.learning.ClientWeighting.UNIFORM


def setUpModule():
  contexts.set_default_context()


def _sgd(rate):
  return tff.learning.optimizers.build_sgdm(rate)


def _datasets(clients, epochs=2):
  return [ref.to_dataset(c, epochs=epochs) for c in clients]


def _run(process, clients, rounds=2):
  state = process.initialize()
  for _ in range(rounds):
    state, metrics = process.next(state, _datasets(clients))
  return process.get_model_weights(state).trainable, metrics


class FedAvgTest(absltest.TestCase):
  @pytest.mark.thorough
  def test_equals_tff_bit_for_bit(self):
    model = ref.create_functional_model()
    ours = algorithms.build_fed_avg(
      model, _sgd(0.3), _sgd(0.7), client_weighting=_UNIFORM
    )
    theirs = tff.learning.algorithms.build_weighted_fed_avg(
      model, _sgd(0.3), _sgd(0.7), client_weighting=_UNIFORM
    )
    weights, metrics = _run(ours, _CLIENTS)
    expected, expected_metrics = _run(theirs, _CLIENTS)
    for a, e in zip(weights, expected):
      np.testing.assert_array_equal(a, e)
    self.assertEqual(
      metrics['client_work']['train'], expected_metrics['client_work']['train']
    )
    self.assertEqual(metrics['client_work']['excluded_clients'], 0)

  def test_equals_numpy(self):
    process = algorithms.build_fed_avg(
      ref.create_functional_model(), _sgd(0.3), _sgd(0.7)
    )
    actual, _ = _run(process, _CLIENTS)
    expected = ref.initial_weights()
    for _ in range(2):
      expected = ref.fed_avg_round(
        expected, _CLIENTS, rate=0.3, server_rate=0.7, epochs=2
      )
    for a, e in zip(actual, expected):
      np.testing.assert_allclose(a, e, rtol=1e-5, atol=1e-5)

  @pytest.mark.thorough
  def test_client_with_uniform_weight_that_diverged_is_left_out(self):
    x, y = _CLIENTS[1][0]
    broken = [(np.full_like(x, np.nan), y)]
    process = algorithms.build_fed_avg(
      ref.create_functional_model(), _sgd(0.3), client_weighting=_UNIFORM
    )
    state = process.initialize()
    data = _datasets([_CLIENTS[0], broken, _CLIENTS[2], []])
    output = process.next(state, data)
    self.assertEqual(output.metrics['client_work']['excluded_clients'], 1)
    expected = process.next(state, [data[0], data[2], data[3]])
    for a, e in zip(
      process.get_model_weights(output.state).trainable,
      process.get_model_weights(expected.state).trainable,
    ):
      np.testing.assert_array_equal(a, e)

  def test_client_whose_weighted_delta_overflows_is_left_out(self):
    # One step of finite length, which times 100 examples is not.
    broken = ref.make_batches(100, 0, batch_size=100)
    process = algorithms.build_fed_avg(
      ref.create_functional_model(), _sgd(1e38), _sgd(1e-36)
    )
    state = process.initialize()
    data = _datasets([broken, ref.make_batches(1, 1)], epochs=1)
    output = process.next(state, data)
    self.assertEqual(output.metrics['client_work']['excluded_clients'], 1)
    weights = process.get_model_weights(state)
    self.assertFalse(process.update_is_finite(weights, data[0]))
    self.assertTrue(process.update_is_finite(weights, data[1]))
    # The other client moves the weights.
    expected = process.next(state, data[1:])
    for a, e, start in zip(
      process.get_model_weights(output.state).trainable,
      process.get_model_weights(expected.state).trainable,
      weights.trainable,
    ):
      np.testing.assert_array_equal(a, e)
      self.assertTrue(np.any(a != start))

  @pytest.mark.thorough
  def test_hparams_reach_the_wrapped_client_work(self):
    process = algorithms.build_fed_avg(ref.create_variable_model, _sgd(0.3))
    state = process.initialize()
    hparams = process.get_hparams(state)
    self.assertAlmostEqual(hparams['client_work']['learning_rate'], 0.3)
    hparams['client_work']['learning_rate'] = 0.0
    state = process.set_hparams(state, hparams)
    before = process.get_model_weights(state).trainable
    after = process.get_model_weights(
      process.next(state, _datasets(_CLIENTS)).state
    ).trainable
    for a, b in zip(after, before):
      np.testing.assert_array_equal(a, b)

  @pytest.mark.thorough
  def test_aggregator_composes(self):
    process = algorithms.build_fed_avg(
      ref.create_functional_model(),
      _sgd(0.05),
      model_aggregator=tff.learning.robust_aggregator(),
    )
    actual, _ = _run(process, _CLIENTS, rounds=1)
    expected = ref.fed_avg_round(
      ref.initial_weights(), _CLIENTS, rate=0.05, server_rate=1.0, epochs=2
    )
    # Deltas of this size are neither clipped nor zeroed.
    for a, e in zip(actual, expected):
      np.testing.assert_allclose(a, e, rtol=1e-5, atol=1e-5)

  def test_what_is_no_model_is_refused(self):
    with self.assertRaisesRegex(TypeError, 'model must be'):
      algorithms.build_fed_avg(tf.constant(1), _sgd(0.3))
