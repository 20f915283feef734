# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Resident memory over many rounds of varying cohorts."""

from collections.abc import Iterator
from collections.abc import Sequence
from typing import NamedTuple

from fedfish_tff.datasets import batches
from fedfish_tff.datasets import random_streams
from launch.benchmarks import process_memory
from launch.benchmarks import workloads

import numpy as np

_LARGEST_CLIENT = 100


class Sample(NamedTuple):
  """This process's memory after a round, counted from 1."""

  round_number: int
  resident_bytes: int


def sample_memory(
  *, rounds: int, largest_cohort: int, keras: bool, datasets: bool
) -> Iterator[Sample]:
  """Trains in the default context, and yields a sample after every round.

  Args:
    rounds: How many.
    largest_cohort: Cohorts have 1 to as many clients, each of 1 to 100
      examples.
    keras: Whether the model is a Keras model; else it is functional.
    datasets: Whether clients are new `tf.data.Dataset` objects every round;
      else they are `ClientBatches`.
  """
  workload = workloads.WORKLOADS['softmax']
  network = workload.network
  process = workload.build_process(
    network.create_variable_model if keras else network.create_functional()
  )
  clients = workload.generate_clients(largest_cohort, _LARGEST_CLIENT)
  state = process.initialize()
  for round_number in range(1, rounds + 1):
    cohort = _cohort(clients, workload.batch_size, round_number)
    if datasets:
      cohort = [client.to_dataset() for client in cohort]
    state = process.next(state, cohort).state
    yield Sample(round_number, process_memory.resident_bytes())


def _cohort(
  clients: Sequence[workloads.Client], batch_size: int, round_number: int
) -> list[batches.ClientBatches]:
  rng = random_streams.random_generator('memory benchmark', round_number)
  chosen = rng.permutation(len(clients))[: rng.integers(1, len(clients) + 1)]
  return [
    batches.plan_batches(
      clients[i],
      batches.BatchSpec(
        batch_size=batch_size,
        max_examples=int(rng.integers(1, _LARGEST_CLIENT + 1)),
      ),
      client_id=str(i),
      seed=0,
      round_number=round_number,
    )
    for i in chosen
  ]


def growth_bytes(samples: Sequence[Sample]) -> float:
  """Returns the last tenth's median minus the second's.

  The first tenth traces graphs and meets the largest cohorts.

  Args:
    samples: Of 20 rounds or more.
  """
  resident = np.array([sample.resident_bytes for sample in samples])
  tenth = len(resident) // 10
  early, late = resident[tenth : 2 * tenth], resident[-tenth:]
  return float(np.median(late) - np.median(early))
