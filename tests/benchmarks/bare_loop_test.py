# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The yardstick computes a round of the method, by NumPy's account."""

from benchmarks import bare_loop
from benchmarks import rounds

from absl.testing import parameterized
import numpy as np


def _gradients(kernel, bias, x, y):
  """The mean cross-entropy's gradients of softmax regression."""
  logits = x @ kernel + bias
  odds = np.exp(logits - logits.max(axis=1, keepdims=True))
  error = odds / odds.sum(axis=1, keepdims=True) - np.eye(62)[y]
  return np.array([x.T @ error, error.sum(axis=0)], dtype=object) / len(y)


class BareLoopTest(parameterized.TestCase):
  @parameterized.named_parameters(('fed_avg', False), ('fed_fish', True))
  def test_round_of_ragged_clients(self, fed_fish):
    network = rounds.NETWORKS['softmax']
    model = network.create_functional()
    clients = [
      (x[:size], y[:size])
      for size, (x, y) in zip([25, 10], network.generate_clients(2))
    ]
    run = bare_loop.build_round(
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
