# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the method in limits that are known."""

from examples import cellars
from examples import clipped_fed_avg
from fedfish_tff import algorithms
from fedfish_tff import datasets
from fedfish_tff import execution

import numpy as np
import tensorflow_federated as tff

_SGD = tff.learning.optimizers.build_sgdm


def _move(build, **arguments):
  """Returns how one round with three clients moves each trainable tensor."""
  execution.set_default_context()
  benchmark = cellars.create_task(seed=0)
  process = build(benchmark.create_model(), _SGD(0.1), _SGD(1.0), **arguments)
  clients = [
    datasets.sequential_batches(
      benchmark.train.load_client(client_id), client_id=client_id, batch_size=8
    ).to_dataset()
    for client_id in benchmark.train.client_ids[:3]
  ]
  state = process.initialize()
  before = process.get_model_weights(state).trainable
  after = process.get_model_weights(
    process.next(state, clients).state
  ).trainable
  return [new - old for new, old in zip(after, before, strict=True)]


def test_a_large_norm_is_that_of_fed_avg() -> None:
  """Equals FedAvg if no update is as long as the norm."""
  found = _move(clipped_fed_avg.build_clipped_fed_avg, clipping_norm=1e3)
  expected = _move(algorithms.build_fed_avg)
  for one, other in zip(found, expected, strict=True):
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_no_round_moves_the_model_further_than_the_norm() -> None:
  """Moves the model, by the norm at most."""
  moved = _move(clipped_fed_avg.build_clipped_fed_avg, clipping_norm=0.01)
  length = np.sqrt(sum(np.sum(np.square(tensor)) for tensor in moved))
  assert 0.001 < length < 0.01 * (1 + 1e-5)
