# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The rows of the benchmark of a round, and how they are measured."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import time

from fedfish_tff import algorithms
from fedfish_tff.datasets import batches
from fedfish_tff.models import model_functions
from launch.benchmarks import workloads

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# Of the local training that every row does.
CLIENT_LEARNING_RATE = 0.01
_BATCH_SIZE = 10


def bare_round(
  model: tff.learning.models.FunctionalModel,
  clients: Sequence[tuple[np.ndarray, np.ndarray]],
) -> Callable[[], object]:
  """Returns a round without TFF, the yardstick: the sum of model deltas."""
  bound = model_functions.bind_model(model)
  start = tuple(tf.constant(w) for w in model.initial_weights[0])

  @tf.function
  def train(trainable, x, y):
    for i in tf.range(0, tf.shape(y)[0], _BATCH_SIZE):
      gradients = bound.loss_gradients(
        model_functions.FlatWeights(trainable, ()),
        x[i : i + _BATCH_SIZE],
        y[i : i + _BATCH_SIZE],
      )
      trainable = tuple(
        w - CLIENT_LEARNING_RATE * g for w, g in zip(trainable, gradients)
      )
    return trainable

  tensors = [(tf.constant(x), tf.constant(y)) for x, y in clients]

  def run():
    totals = [tf.zeros_like(w) for w in start]
    for x, y in tensors:
      trained = train(start, x, y)
      totals = [t + s - w for t, s, w in zip(totals, start, trained)]
    return [t.numpy() for t in totals]

  return run


def federated_round(
  process: algorithms.FederatedProcess,
  clients: Sequence[tuple[np.ndarray, np.ndarray]],
) -> Callable[[], object]:
  """Returns a round of a process on fresh datasets, as a simulation has."""
  state = process.initialize()
  spec = batches.BatchSpec(batch_size=_BATCH_SIZE, shuffle=False)

  def run():
    datasets = [
      batches.plan_batches(
        examples, spec, client_id=str(i), seed=0, round_number=1
      ).to_dataset()
      for i, examples in enumerate(clients)
    ]
    return process.next(state, datasets)

  return run


def measure(
  rows: Mapping[str, Callable[[], object]], *, repeats: int
) -> dict[str, float]:
  """Returns each row's median seconds, measured in turns after a warm-up."""
  for run in rows.values():
    run()
  seconds = {name: [] for name in rows}
  for _ in range(repeats):
    for name, run in rows.items():
      start = time.perf_counter()
      run()
      seconds[name].append(time.perf_counter() - start)
  return {name: float(np.median(values)) for name, values in seconds.items()}


def measure_workload(
  name: str, *, num_clients: int, repeats: int, context: str
) -> dict[str, float]:
  """Returns the median seconds of every row; the first is the yardstick.

  Args:
    name: Of `workloads.WORKLOADS`.
    num_clients: Clients in the cohort.
    repeats: Measured rounds of each row.
    context: Name of the execution context, which is the default one.
  """
  workload = workloads.WORKLOADS[name]
  model = workload.create_model()
  clients = workload.generate_clients(num_clients)
  sgd = tff.learning.optimizers.build_sgdm(CLIENT_LEARNING_RATE)
  return measure(
    {
      'bare tf.function loop': bare_round(model, clients),
      f'FedAvg, {context}': federated_round(
        algorithms.build_fed_avg(model, sgd), clients
      ),
      f'FedFish, {context}': federated_round(
        algorithms.build_fed_fish(model, sgd), clients
      ),
    },
    repeats=repeats,
  )
