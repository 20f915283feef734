# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Resident memory over many rounds of varying cohorts."""

from collections.abc import Iterator
from collections.abc import Sequence

from fedfish_tff.datasets import batches
from fedfish_tff.datasets import random_streams
from launch.benchmarks import rounds as rounds_lib

import numpy as np
import psutil

_LARGEST_CLIENT = 100


def sample_memory(
  *, rounds: int, largest_cohort: int, keras: bool, datasets: bool
) -> Iterator[int]:
  """Trains in the default context; yields resident bytes after every round.

  Args:
    rounds: How many.
    largest_cohort: Cohorts have 1 to as many clients, each of 1 to 100
      examples.
    keras: Whether the model is a Keras model; else it is functional.
    datasets: Whether clients are new `tf.data.Dataset` objects every round;
      else they are `ClientBatches`.
  """
  network = rounds_lib.NETWORKS['softmax']
  process = rounds_lib.build_process(
    network.create_variable_model if keras else network.create_functional()
  )
  clients = network.generate_clients(largest_cohort, _LARGEST_CLIENT)
  state = process.initialize()
  for round_number in range(1, rounds + 1):
    cohort = _cohort(clients, round_number)
    if datasets:
      cohort = [client.to_dataset() for client in cohort]
    state = process.next(state, cohort).state
    yield psutil.Process().memory_info().rss


def _cohort(
  clients: Sequence[rounds_lib.Client], round_number: int
) -> list[batches.ClientBatches]:
  rng = random_streams.random_generator('memory benchmark', round_number)
  chosen = rng.permutation(len(clients))[: rng.integers(1, len(clients) + 1)]
  return [
    batches.plan_batches(
      clients[i],
      batches.BatchSpec(
        batch_size=10,
        max_examples=int(rng.integers(1, _LARGEST_CLIENT + 1)),
      ),
      client_id=str(i),
      seed=0,
      round_number=round_number,
    )
    for i in chosen
  ]


def growth_bytes(samples: Sequence[int]) -> float:
  """Returns the last tenth's median minus the second's.

  The first tenth traces graphs and meets the largest cohorts.

  Args:
    samples: Of 20 rounds or more.
  """
  tenth = len(samples) // 10
  early, late = samples[tenth : 2 * tenth], samples[-tenth:]
  return float(np.median(late) - np.median(early))
