# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Measures the time of a round beside a bare training loop.

  python -m launch.benchmarks.run
  python -m launch.benchmarks.run --workloads=cnn --repeats=9

A row is a way to do the same local training: 16 clients of 100 examples, batch
10, one local epoch. All rows of a workload are measured in turns in one run, so
that whatever else the machine does hits them alike; the table shows medians,
and each as a multiple of the first row, a `tf.function` called once a client on
arrays in memory.
"""

from collections.abc import Callable
from collections.abc import Sequence
import time

from fedfish_tff import algorithms
from fedfish_tff.datasets import batches
from fedfish_tff.execution import contexts
from fedfish_tff.models import model_functions
from launch.benchmarks import workloads

from absl import app
from absl import flags
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_WORKLOADS = flags.DEFINE_multi_enum(
  'workloads',
  list(workloads.WORKLOADS),
  list(workloads.WORKLOADS),
  'What to measure; repeat the flag for several.',
)
_CLIENTS = flags.DEFINE_integer(
  'clients', 16, 'Clients in the cohort.', lower_bound=1
)
_REPEATS = flags.DEFINE_integer(
  'repeats', 5, 'Measured rounds of each row.', lower_bound=1
)
_CONTEXT = flags.DEFINE_enum(
  'context',
  contexts.DEFAULT_CONTEXT_NAME,
  contexts.context_names(),
  'The execution context of the rows that are TFF computations.',
)

_BATCH_SIZE = 10
_RATE = 0.01


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
      trainable = tuple(w - _RATE * g for w, g in zip(trainable, gradients))
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
  rows: dict[str, Callable[[], object]], *, repeats: int
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


def main(argv: Sequence[str]) -> None:
  """Prints a table for each workload."""
  if len(argv) > 1:
    raise app.UsageError(f'Unexpected argument {argv[1]!r}.')
  contexts.set_default_context(_CONTEXT.value)
  for key in dict.fromkeys(_WORKLOADS.value):
    workload = workloads.WORKLOADS[key]
    model = workload.create_model()
    clients = workload.generate_clients(_CLIENTS.value)
    sgd = tff.learning.optimizers.build_sgdm(_RATE)
    context = _CONTEXT.value
    medians = measure(
      {
        'bare tf.function loop': bare_round(model, clients),
        f'FedAvg, {context}': federated_round(
          algorithms.build_fed_avg(model, sgd), clients
        ),
        f'FedFish, {context}': federated_round(
          algorithms.build_fed_fish(model, sgd), clients
        ),
      },
      repeats=_REPEATS.value,
    )
    yardstick = next(iter(medians.values()))
    print(f'\n{workload.name}, {_CLIENTS.value} clients')
    print(f'{"":32}{"seconds a round":>16}{"ratio":>8}')
    for name, seconds in medians.items():
      print(f'{name:32}{seconds:16.3f}{seconds / yardstick:8.1f}')


if __name__ == '__main__':
  app.run(main)
