# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Resident memory over many rounds of varying cohorts, or many processes."""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import gc

from benchmarks import rounds as rounds_lib
from fedfish_tff.datasets import batches
from fedfish_tff.datasets import random_streams
from fedfish_tff.execution import contexts
from launch.plots import panels
from launch.plots import style

from matplotlib import figure as mpl_figure
from matplotlib import ticker
import numpy as np
import psutil
import tensorflow as tf
import tensorflow_federated as tff

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


def sample_processes(context: str, processes: int) -> list[int]:
  """Builds, runs and drops processes; returns resident bytes after each.

  To be called in a process of its own.

  Args:
    context: Name of the execution context; the memory of its child processes
      counts.
    processes: How many: FedAvg of softmax regression, two rounds with four
      clients, each with a client learning rate of its own.
  """
  contexts.set_default_context(context)
  network = rounds_lib.NETWORKS['softmax']
  cohort = [
    tf.data.Dataset.from_tensor_slices(client).batch(10)
    for client in network.generate_clients(4, 20)
  ]
  samples = []
  for number in range(processes):
    process = tff.learning.algorithms.build_weighted_fed_avg(
      network.create_functional(),
      tff.learning.optimizers.build_sgdm(0.01 + 0.001 * number),
      tff.learning.optimizers.build_sgdm(1.0),
    )
    state = process.initialize()
    for _ in range(2):
      state = process.next(state, cohort).state
    del process, state
    gc.collect()
    me = psutil.Process()
    samples.append(
      sum(p.memory_info().rss for p in (me, *me.children(recursive=True)))
    )
  return samples


@style.styled
def plot_samples(samples: Mapping[str, Sequence[int]]) -> mpl_figure.Figure:
  """Draws resident memory against the number of processes.

  Args:
    samples: By context, as of `sample_processes`.
  """
  figure, (axis,) = panels.new_grid([samples], (6, 4))
  panels.draw_lines(
    axis,
    {
      context: (np.arange(1, len(values) + 1), np.array([values]))
      for context, values in samples.items()
    },
    style.series_looks(list(samples)),
  )
  axis.yaxis.set_major_formatter(ticker.EngFormatter('B'))
  panels.set_labels(
    axis,
    'Processes built, run and dropped',
    'Resident memory',
    'Memory that processes leave behind',
  )
  panels.draw_legend(figure, axis.get_lines())
  return figure


def growth_bytes(samples: Sequence[int]) -> float:
  """Returns the last tenth's median minus the second's.

  The first tenth traces graphs and meets the largest cohorts.

  Args:
    samples: Of 20 rounds or more.
  """
  tenth = len(samples) // 10
  early, late = samples[tenth : 2 * tenth], samples[-tenth:]
  return float(np.median(late) - np.median(early))
