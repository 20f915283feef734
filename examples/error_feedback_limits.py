# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of error feedback in limits that are known, for a project of one's own."""

from examples import error_feedback
from examples import wine
from fedfish_tff import algorithms
from fedfish_tff import datasets
from fedfish_tff import execution

import numpy as np
import tensorflow_federated as tff


def _load_clients(task):
  return [
    datasets.sequential_batches(
      task.train.load_client(client_id), client_id=client_id, batch_size=8
    )
    for client_id in task.train.client_ids[:3]
  ]


def _train(share, *, rounds):
  """Returns the weights after some rounds, and the clients' states."""
  task = wine.create_task(seed=0)
  sgd = tff.learning.optimizers.build_sgdm
  process = error_feedback.build_error_feedback(
    task.create_model(), sgd(0.1), sgd(1.0), share=share
  )
  clients = _load_clients(task)
  state = process.initialize()
  states = [process.initialize_client(state) for _ in clients]
  for _ in range(rounds):
    output = process.next(state, states, clients)
    state, states = output.state, output.client_states
  return process.get_model_weights(state).trainable, states


def test_a_client_that_sends_everything_has_fed_avg() -> None:
  """Equals FedAvg, with nothing held back, where all coordinates are sent."""
  execution.set_default_context()
  found, states = _train(1.0, rounds=2)
  task = wine.create_task(seed=0)
  sgd = tff.learning.optimizers.build_sgdm
  process = algorithms.build_fed_avg(task.create_model(), sgd(0.1), sgd(1.0))
  state = process.initialize()
  for _ in range(2):
    state = process.next(state, _load_clients(task)).state
  expected = process.get_model_weights(state).trainable
  for one, other in zip(found, expected, strict=True):
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
  for held_back in states:
    for tensor in held_back:
      np.testing.assert_array_equal(tensor, np.zeros_like(tensor))


def test_a_client_keeps_what_it_has_not_sent() -> None:
  """Has zeros where coordinates were sent, and the rest elsewhere."""
  execution.set_default_context()
  _, states = _train(0.1, rounds=1)
  for held_back in states:
    kernel = np.asarray(held_back[0])
    assert np.count_nonzero(kernel == 0) >= 0.1 * kernel.size
    assert np.abs(kernel).max() > 0
