# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""All rows of the table compute the same round."""

import dataclasses

from benchmarks import rounds as rounds_lib
from benchmarks import workloads
from fedfish_tff.models import model_functions

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf


def _gradients(kernel, bias, x, y):
  """The mean cross-entropy's gradients of softmax regression."""
  logits = x @ kernel + bias
  odds = np.exp(logits - logits.max(axis=1, keepdims=True))
  error = odds / odds.sum(axis=1, keepdims=True) - np.eye(62)[y]
  return np.array([x.T @ error, error.sum(axis=0)], dtype=object) / len(y)


class BareLoopTest(parameterized.TestCase):
  @parameterized.named_parameters(('fed_avg', False), ('fed_fish', True))
  def test_round_of_ragged_clients(self, fed_fish):
    network = rounds_lib.NETWORKS['softmax']
    model = network.create_functional()
    clients = [
      (x[:size], y[:size])
      for size, (x, y) in zip([25, 10], network.generate_clients(2))
    ]
    run = rounds_lib.build_bare_round(
      model, clients, batch_size=10, learning_rate=0.01, fed_fish=fed_fish
    )
    run()
    start = np.array(
      [w.astype(np.float64) for w in model.initial_weights[0]], dtype=object
    )
    numerator, denominator = 0, 0
    for x, y in clients:
      batches = [(x[i : i + 10], y[i : i + 10]) for i in range(0, len(y), 10)]
      weights = start
      for batch in batches:
        weights = weights - 0.01 * _gradients(*weights, *batch)
      weight = len(y)
      if fed_fish:
        weight = weight * sum(_gradients(*weights, *b) ** 2 for b in batches)
      numerator = numerator + weight * (start - weights)
      denominator = denominator + weight
    # The second round starts afresh.
    for ours, expected in zip(run(), start - numerator / denominator):
      np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-6)


class NetworksTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('softmax_regression', 'softmax', 48_670),
    ('perceptron', 'perceptron', 4_126),
    ('cnn', 'cnn', 1_690_046),
  )
  def test_functional_and_keras_models_agree(self, name, num_parameters):
    network = rounds_lib.NETWORKS[name]
    functional = network.create_functional()
    weights = functional.initial_weights[0]
    self.assertEqual(sum(w.size for w in weights), num_parameters)
    variable = network.create_variable_model()
    self.assertEqual(functional.input_spec, variable.input_spec)
    (x, y), (other, _) = network.generate_clients(2)
    self.assertFalse(np.array_equal(x, other))
    flat = model_functions.FlatWeights(tuple(map(tf.constant, weights)), ())
    ours, keras = (
      model_functions.bind_model(model).loss_gradients(flat, x, y)
      for model in (functional, lambda: variable)
    )
    for a, b in zip(ours, keras, strict=True):
      np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


class RoundsTest(absltest.TestCase):
  # The CNN's rows differ from these by the network only.
  @pytest.mark.thorough
  def test_rows_of_fed_fish_agree(self):
    self._check_rows_agree(fed_fish=True)

  @pytest.mark.slow
  def test_rows_of_fed_avg_agree(self):
    self._check_rows_agree(fed_fish=False)

  def _check_rows_agree(self, *, fed_fish):
    clients = [
      (x[:25], y[:25])
      for x, y in rounds_lib.NETWORKS['softmax'].generate_clients(2)
    ]
    workload = dataclasses.replace(
      workloads.WORKLOADS['softmax'], fed_fish=fed_fish
    )
    rounds = rounds_lib.Rounds(workload, clients)
    self.addCleanup(rounds.close)
    results = {}
    for name in workloads.ROWS:
      run = rounds.build(name)()
      run()
      results[name] = run()
    expected = results.pop(workloads.YARDSTICK)
    for name, weights in results.items():
      with self.subTest(name):
        for a, b in zip(weights, expected, strict=True):
          np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    self.assertEmpty(rounds.general_path_reasons)
