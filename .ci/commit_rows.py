# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rows of .ci/compare_commits.py: rounds, in the checkout on PYTHONPATH.

A row is a process, or a whole run with its client states and metrics. The
program takes the number of cores, reads a row's name in each line, and answers
with the seconds and the CPU seconds of one more round, as JSON. A row's first
two rounds are not timed. It uses names only that do not change from commit to
commit. With `--list` it prints the names of the rows.
"""

from collections.abc import Callable
from collections.abc import Mapping
import json
import os
import pathlib
import sys
import tempfile
import threading
import time
import traceback

from fedfish_tff import algorithms
from fedfish_tff import datasets
from fedfish_tff import evaluation
from fedfish_tff import execution
from fedfish_tff import models
from fedfish_tff import simulation

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_BATCH_SIZE = 10
_SGD = tff.learning.optimizers.build_sgdm(0.01)
_STEP = tff.learning.optimizers.build_sgdm(1.0)


def _softmax() -> list[tf.keras.layers.Layer]:
  return [tf.keras.layers.Dense(62)]


def _perceptron() -> list[tf.keras.layers.Layer]:
  return [
    tf.keras.layers.Dense(32, activation='relu'),
    tf.keras.layers.Dense(62),
  ]


def _cnn() -> list[tf.keras.layers.Layer]:
  layers = tf.keras.layers
  return [
    layers.Reshape([28, 28, 1]),
    layers.Conv2D(16, 5, activation='relu'),
    layers.MaxPool2D(2),
    layers.Conv2D(32, 5, activation='relu'),
    layers.MaxPool2D(2),
    layers.Flatten(),
    layers.Dense(62),
  ]


def _lstm() -> list[tf.keras.layers.Layer]:
  layers = tf.keras.layers
  return [layers.Reshape([28, 28]), layers.LSTM(32), layers.Dense(62)]


def _batch_spec(features: int) -> tuple[tf.TensorSpec, tf.TensorSpec]:
  return (
    tf.TensorSpec([None, features], tf.float32),
    tf.TensorSpec([None], tf.int32),
  )


def _model(
  layers: Callable[[], list[tf.keras.layers.Layer]], features: int = 784
) -> tff.learning.models.FunctionalModel:
  tf.keras.utils.set_random_seed(0)
  return models.create_keras_classifier(
    tf.keras.Sequential([tf.keras.layers.Input([features]), *layers()]),
    input_spec=_batch_spec(features)[0],
  )


def _keras_model() -> tff.learning.models.VariableModel:
  return tff.learning.models.from_keras_model(
    tf.keras.Sequential([tf.keras.layers.Input([784]), *_softmax()]),
    loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    input_spec=_batch_spec(784),
  )


def _clients(
  number: int, examples: int = 100, features: int = 784
) -> list[tuple[np.ndarray, np.ndarray]]:
  rng = np.random.default_rng(0)
  return [
    (
      rng.uniform(size=[examples, features]).astype(np.float32),
      rng.integers(0, 62, examples).astype(np.int32),
    )
    for _ in range(number)
  ]


def _batches(
  clients: list[tuple[np.ndarray, np.ndarray]],
) -> list[datasets.ClientBatches]:
  return [
    datasets.sequential_batches(
      client, client_id=str(i), batch_size=_BATCH_SIZE
    )
    for i, client in enumerate(clients)
  ]


def _datasets(
  clients: list[tuple[np.ndarray, np.ndarray]],
) -> list[tf.data.Dataset]:
  return [
    tf.data.Dataset.from_tensor_slices(client)
    .shuffle(len(client[1]), seed=0)
    .batch(_BATCH_SIZE)
    for client in clients
  ]


def _rounds(process, inputs: Callable[[], list]) -> Callable[[], object]:
  """Returns a function that computes one more round."""
  state = process.initialize()
  own = None

  def run() -> None:
    nonlocal state, own
    if not hasattr(process, 'initialize_client'):
      state = process.next(state, inputs()).state
      return
    clients = inputs()
    own = own or [process.initialize_client(state)] * len(clients)
    output = process.next(state, own, clients)
    state, own = output.state, output.client_states

  return run


def _of(
  build: Callable, model, clients, **options
) -> Callable[[], Callable[[], object]]:
  def start() -> Callable[[], object]:
    inputs = _batches(clients())
    return _rounds(build(model(), _SGD, _STEP, **options), lambda: inputs)

  return start


class _Turns(simulation.Hook):
  """A hook by which another thread asks for a run's next round."""

  def __init__(self) -> None:
    self._asked = threading.Semaphore(0)
    self._is_due = threading.Semaphore(0)

  def before_round(self, round_number: int) -> Mapping[str, float]:
    del round_number
    self._is_due.release()
    self._asked.acquire()
    return {}

  def wait(self) -> None:
    """Waits until the next round is due."""
    self._is_due.acquire()

  def run(self) -> None:
    """Computes a round, up to the next one."""
    self._asked.release()
    self.wait()


def _run_of(build: Callable, **options) -> Callable[[], Callable[[], object]]:
  """Returns a row of a whole run's rounds, with files and hooks."""

  def start() -> Callable[[], object]:
    context = tff.framework.get_context_stack().current
    turns = _Turns()

    def train(folder: pathlib.Path) -> None:
      tff.framework.get_context_stack().set_default_context(context)
      clients = {str(i): client for i, client in enumerate(_clients(16))}
      data = datasets.InMemoryClientData(clients)
      cohorts = simulation.uniform_participation(
        data.client_ids, cohort_size=16, seed=0
      )
      simulation.run_training(
        build(_model(_softmax), _SGD, _STEP, **options),
        train_data=data,
        participation=cohorts,
        batch_spec=datasets.BatchSpec(batch_size=_BATCH_SIZE),
        seed=0,
        rounds=10**6,
        checkpoint_every=16,  # The default of configs.
        metrics_managers=[simulation.CsvMetricsManager(folder / 'rows.csv')],
        client_states=simulation.ClientStateStore(folder / 'states.sqlite'),
        hooks=[turns, simulation.Divergence(5, participation=cohorts)],
      )

    def work() -> None:
      try:
        # In the checkout, which is removed even after a kill.
        with tempfile.TemporaryDirectory(dir='.') as folder:
          train(pathlib.Path(folder))
      except BaseException:
        traceback.print_exc()
        os._exit(1)

    threading.Thread(target=work, daemon=True).start()
    turns.wait()
    return turns.run

  return start


def _on_new_datasets() -> Callable[[], object]:
  clients = _clients(16)
  process = algorithms.build_fed_avg(_model(_softmax), _SGD, _STEP)
  return _rounds(process, lambda: _datasets(clients))


def _of_tff() -> Callable[[], object]:
  inputs = _batches(_clients(16))
  process = tff.learning.algorithms.build_weighted_fed_avg(
    _model(_softmax), _SGD, _STEP
  )
  return _rounds(process, lambda: inputs)


def _scores() -> Callable[[], object]:
  model = _model(_softmax)
  scorer = evaluation.ClientScorer(model)
  weights = algorithms.build_fed_avg(model, _SGD, _STEP)
  weights = weights.get_model_weights(weights.initialize())
  data = datasets.InMemoryClientData(
    {str(i): client for i, client in enumerate(_clients(200))}
  )
  return lambda: scorer(
    weights, evaluation.load_chunks(data, eval_batch_size=32)
  )


ROWS: Mapping[str, Callable[[], Callable[[], object]]] = {
  'softmax': _of(
    algorithms.build_fed_avg, lambda: _model(_softmax), lambda: _clients(16)
  ),
  'softmax, 1,000 clients of 20': _of(
    algorithms.build_fed_avg,
    lambda: _model(_softmax),
    lambda: _clients(1000, 20),
  ),
  'perceptron 64-32-62': _of(
    algorithms.build_fed_avg,
    lambda: _model(_perceptron, 64),
    lambda: _clients(64, features=64),
  ),
  'CNN': _of(
    algorithms.build_fed_avg, lambda: _model(_cnn), lambda: _clients(8)
  ),
  'LSTM': _of(
    algorithms.build_fed_avg, lambda: _model(_lstm), lambda: _clients(8)
  ),
  'softmax, Keras': _of(
    algorithms.build_fed_avg, lambda: _keras_model, lambda: _clients(16)
  ),
  'softmax, new datasets': _on_new_datasets,
  "softmax, TFF's FedAvg": _of_tff,
  'FedFish': _of(
    algorithms.build_fed_fish, lambda: _model(_softmax), lambda: _clients(16)
  ),
  'FedProx': _of(
    algorithms.build_fed_prox,
    lambda: _model(_softmax),
    lambda: _clients(16),
    proximal_strength=0.1,
  ),
  'Ditto': _of(
    algorithms.build_ditto,
    lambda: _model(_softmax),
    lambda: _clients(16),
    personal_strength=0.1,
  ),
  'run of FedAvg': _run_of(algorithms.build_fed_avg),
  'run of SCAFFOLD': _run_of(algorithms.build_scaffold, num_clients=16),
  'scores of 200 clients': _scores,
}


def main() -> None:
  """Computes rows until its input ends."""
  if sys.argv[1] == '--list':
    print('\n'.join(ROWS))
    return
  os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(sys.argv[1])])
  execution.set_default_context()
  started = {}
  for line in sys.stdin:
    name = line.rstrip('\n')
    if name not in started:
      started[name] = ROWS[name]()
      started[name]()
      started[name]()
    wall, cpu = time.perf_counter(), time.process_time()
    started[name]()
    print(
      json.dumps([time.perf_counter() - wall, time.process_time() - cpu]),
      flush=True,
    )


if __name__ == '__main__':
  main()
