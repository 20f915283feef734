# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Small runs of the training loop, stopped and resumed in folders."""

from collections.abc import Mapping
from collections.abc import Sequence
import pathlib
from typing import Any

from fedfish_tff import algorithms
from fedfish_tff import datasets
from fedfish_tff import models
from fedfish_tff import simulation
from tests import row_callback
from tests import temporary_folders

import numpy as np
import tensorflow as tf

SEED = 3
ROUNDS = 6


class Stop(Exception):
  """Stands for a kill: nothing of the loop runs after it."""


def stop_at(stopped_round: int) -> simulation.Hook:
  """Returns a hook that ends the loop after a round."""

  def stop(round_number, _):
    if round_number == stopped_round:
      raise Stop()

  return row_callback.RowCallback(stop)


def make_round(number: int, client_ids: Sequence[str]) -> simulation.Round:
  """Returns a round of clients of one example each, as hooks see it."""
  cohort = [
    datasets.sequential_batches(np.zeros(1), client_id=c, batch_size=1)
    for c in client_ids
  ]
  return simulation.Round(number, {}, None, None, cohort=cohort)


def create_model():
  """Returns a classifier of two features."""
  return models.create_mlp_classifier(
    num_features=2, num_classes=2, hidden_units=(3,), seed=1
  )


class TestCase(temporary_folders.TestCase):
  """Runs a process over clients of some sizes, two of them a round."""

  SIZES: Mapping[str, int]
  SPEC: datasets.BatchSpec

  def setUp(self):
    super().setUp()
    self.cohorts = simulation.uniform_participation(
      self.SIZES, cohort_size=2, seed=SEED
    )

  def train_data(self, bad_clients: str = '') -> datasets.ClientData:
    """Returns the clients, of which some diverge."""
    clients = {}
    for index, (client_id, size) in enumerate(self.SIZES.items()):
      rng = np.random.default_rng(index)
      x = rng.normal(size=(size, 2)).astype(np.float32)
      if client_id in bad_clients:
        x *= 1e30  # Finite, but its gradients are not.
      clients[client_id] = (x, rng.integers(0, 2, size).astype(np.int32))
    return datasets.InMemoryClientData(clients)

  def run_training(
    self, process: Any, folder: pathlib.Path | None = None, **kwargs: Any
  ) -> simulation.TrainingResult:
    """Runs or resumes the training whose files are in a folder."""
    folder = folder or self.folder
    return simulation.run_training(
      process,
      **{
        'train_data': self.train_data(),
        'participation': self.cohorts,
        'batch_spec': self.SPEC,
        'seed': SEED,
        'rounds': ROUNDS,
        'checkpoint_every': 2,
        'program_state_manager': simulation.CheckpointManager(
          folder / 'checkpoints'
        ),
        'metrics_managers': [
          simulation.CsvMetricsManager(folder / 'metrics.csv')
        ],
        **kwargs,
      },
    )

  def rows(self, folder: pathlib.Path | None = None) -> Sequence[Mapping]:
    """Returns the rows of a run, all but how long it took."""
    rows = simulation.read_rows((folder or self.folder) / 'metrics.csv')
    return [
      {k: v for k, v in row.items() if not k.startswith('time/')}
      for row in rows
    ]

  def call_by_hand(
    self, process: Any, cohorts: Sequence[Sequence[str]]
  ) -> tuple[Any, Mapping[str, Any], Sequence[Any]]:
    """Returns the state, the clients' states and all metrics, without a loop."""
    state, clients, metrics = process.initialize(), {}, []
    data = self.train_data()
    for round_number, cohort in enumerate(cohorts, start=1):
      batches = [
        datasets.plan_batches(
          data.load_client(c),
          self.SPEC,
          client_id=c,
          seed=SEED,
          round_number=round_number,
        ).to_dataset()
        for c in cohort
      ]
      if isinstance(process, algorithms.ClientStateProcess):
        new_client = process.initialize_client(state)
        output = process.next(
          state, [clients.get(c, new_client) for c in cohort], batches
        )
        clients.update(zip(cohort, output.client_states, strict=True))
      else:
        output = process.next(state, batches)
      state = output.state
      metrics.append(output.metrics)
    return state, clients, metrics

  def assert_same_bits(self, one: Any, other: Any) -> None:
    """Asserts that two nests have the same bits, NaN and signs of zero too."""
    for a, b in zip(tf.nest.flatten(one), tf.nest.flatten(other), strict=True):
      self.assertEqual(np.asarray(a).tobytes(), np.asarray(b).tobytes())
