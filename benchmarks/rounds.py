# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The ways of computing a round that the benchmark compares."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import itertools
import os
from typing import NamedTuple

from benchmarks import workloads
from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import datasets
from fedfish_tff import execution
from fedfish_tff import models
from fedfish_tff.models import model_functions
from tasks import networks

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_CLIENT_LEARNING_RATE = 0.01
# The number of classes of EMNIST with digits and letters.
_NUM_CLASSES = 62

# A client's images, float32 [n, ...], and labels, int32 [n].
Client = tuple[np.ndarray, np.ndarray]
# Computes a round; returns the new weights.
Round = Callable[[], list[np.ndarray]]


class Network(NamedTuple):
  """An architecture.

  Attributes:
    example_shape: The shape of one example's features.
    create_functional: The function that makes the functional model.
    create_keras_layers: The function that makes the same layers for Keras,
      without the input.
  """

  example_shape: tuple[int, ...]
  create_functional: Callable[[], tff.learning.models.FunctionalModel]
  create_keras_layers: Callable[[], list[tf.keras.layers.Layer]]

  def generate_clients(self, num_clients: int) -> list[Client]:
    """Returns random clients with `workloads.NUM_EXAMPLES` examples each."""
    clients = []
    for i in range(num_clients):
      rng = datasets.random_generator('benchmark', i)
      x = rng.uniform(size=(workloads.NUM_EXAMPLES, *self.example_shape))
      y = rng.integers(0, _NUM_CLASSES, workloads.NUM_EXAMPLES)
      clients.append((x.astype(np.float32), y.astype(np.int32)))
    return clients

  def create_variable_model(self) -> tff.learning.models.VariableModel:
    """Returns a new Keras model with random weights, in TFF's form."""
    return tff.learning.models.from_keras_model(
      tf.keras.Sequential(
        [tf.keras.layers.InputLayer(self.example_shape)]
        + self.create_keras_layers()
      ),
      loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
      input_spec=(
        tf.TensorSpec([None, *self.example_shape], tf.float32),
        tf.TensorSpec([None], tf.int32),
      ),
      metrics=[tf.keras.metrics.SparseCategoricalAccuracy(name='accuracy')],
    )


def _create_cnn_layers() -> list[tf.keras.layers.Layer]:
  layers = tf.keras.layers
  return [
    layers.Conv2D(32, 5, padding='same', activation='relu'),
    layers.MaxPool2D(2),
    layers.Conv2D(64, 5, padding='same', activation='relu'),
    layers.MaxPool2D(2),
    layers.Flatten(),
    layers.Dense(512, activation='relu'),
    layers.Dense(_NUM_CLASSES),
  ]


NETWORKS: Mapping[str, Network] = {
  # 48,670 parameters.
  'softmax': Network(
    (784,),
    lambda: models.create_mlp_classifier(
      num_features=784, num_classes=_NUM_CLASSES, hidden_units=(), seed=0
    ),
    lambda: [tf.keras.layers.Dense(_NUM_CLASSES)],
  ),
  # 4,126 parameters.
  'perceptron': Network(
    (64,),
    lambda: models.create_mlp_classifier(
      num_features=64, num_classes=_NUM_CLASSES, hidden_units=(32,), seed=0
    ),
    lambda: [
      tf.keras.layers.Dense(32, activation='relu'),
      tf.keras.layers.Dense(_NUM_CLASSES),
    ],
  ),
  # 1.7 M parameters.
  'cnn': Network(
    (28, 28, 1),
    lambda: networks.create_fed_avg_cnn(
      input_shape=(28, 28, 1), num_classes=_NUM_CLASSES, seed=0
    ),
    _create_cnn_layers,
  ),
}


def build_process(
  model: model_functions.ModelFn,
  *,
  fed_fish: bool = False,
  compiles_loops: bool = False,
) -> algorithms.FederatedProcess:
  """Returns FedAvg or FedFish with plain server steps of rate 1."""
  optimizer = tff.learning.optimizers.build_sgdm(_CLIENT_LEARNING_RATE)
  if compiles_loops:
    optimizer = client_work.compile_loops(optimizer)
  build = algorithms.build_fed_fish if fed_fish else algorithms.build_fed_avg
  return build(
    model,
    optimizer,
    tff.learning.optimizers.build_sgdm(1.0),
  )


def build_bare_round(
  model: tff.learning.models.FunctionalModel,
  clients: Sequence[Client],
  *,
  batch_size: int,
  learning_rate: float,
  fed_fish: bool,
) -> Round:
  """Returns a round in plain TensorFlow, without TFF: the yardstick.

  A compiled function is called once per client, on arrays in memory. It trains
  the client's weights in variables and adds to the cohort's sums. It is the
  fastest of the plain forms that were tried (weights as arguments, sums outside
  the function, a call per batch).

  Args:
    model: The model.
    clients: Each client's arrays.
    batch_size: The number of examples in a batch.
    learning_rate: The clients' learning rate.
    fed_fish: Whether the method is FedFish, in which a client makes another
      pass over its data to sum squared gradients, the weights of the mean of
      model deltas; otherwise it is FedAvg.
  """
  bound = model_functions.bind_model(model)
  start = [tf.constant(w) for w in model.initial_weights[0]]
  weights = [tf.Variable(w) for w in start]
  weighted_deltas = [tf.Variable(tf.zeros_like(w)) for w in start]
  total_weights = [
    tf.Variable(tf.zeros_like(w) if fed_fish else 0.0) for w in start
  ]
  sums = weighted_deltas + total_weights

  def gradients(x, y):
    flat = model_functions.FlatWeights(
      tuple(w.read_value() for w in weights), ()
    )
    return bound.loss_gradients(flat, x, y)

  @tf.function
  def train_client(x, y):
    num_examples = tf.shape(y)[0]
    for weight, value in zip(weights, start):
      weight.assign(value)
    for i in tf.range(0, num_examples, batch_size):
      batch = (x[i : i + batch_size], y[i : i + batch_size])
      for weight, gradient in zip(weights, gradients(*batch)):
        weight.assign_sub(learning_rate * gradient)
    client_weights = [tf.cast(num_examples, tf.float32)] * len(weights)
    if fed_fish:
      fisher = tuple(tf.zeros_like(w) for w in start)
      for i in tf.range(0, num_examples, batch_size):
        batch = (x[i : i + batch_size], y[i : i + batch_size])
        fisher = tuple(
          f + tf.square(g) for f, g in zip(fisher, gradients(*batch))
        )
      client_weights = [n * f for n, f in zip(client_weights, fisher)]
    for i, client_weight in enumerate(client_weights):
      delta = start[i] - weights[i]
      weighted_deltas[i].assign_add(client_weight * delta)
      total_weights[i].assign_add(client_weight)

  tensors = [(tf.constant(x), tf.constant(y)) for x, y in clients]

  def run():
    for total in sums:
      total.assign(tf.zeros_like(total))
    for x, y in tensors:
      train_client(x, y)
    return [
      (value - tf.math.divide_no_nan(delta, total)).numpy()
      for value, delta, total in zip(start, weighted_deltas, total_weights)
    ]

  return run


class Rounds:
  """The rows of a workload, by the names in `workloads.ROWS`."""

  def __init__(
    self, workload: workloads.Workload, clients: Sequence[Client]
  ) -> None:
    self._network = NETWORKS[workload.network]
    self._clients = clients
    self._fed_fish = workload.fed_fish
    # Before the first operation of TensorFlow.
    self._context = execution.create_context()
    self._model = self._network.create_functional()
    self._worker = execution.create_context('local_worker')

  @property
  def general_path_reasons(self) -> tuple[str, ...]:
    """The reasons if rounds in the cohort context ran client by client."""
    return self._context.runner.general_path_reasons

  def close(self) -> None:
    """Ends TFF's worker."""
    self._worker.close()

  def build(
    self, name: str, context: tff.framework.SyncContext | None = None
  ) -> Callable[[], Round]:
    """Builds a row's process; returns a function that starts it.

    That function initialises the process and returns its round, which always
    starts from the same weights. The first round traces, compiles and
    allocates, and later ones reuse the results.

    Args:
      name: The row's name.
      context: The context that replaces the row's own; None for the row's own.
    """
    if name == 'bare':
      return lambda: build_bare_round(
        self._model,
        self._clients,
        batch_size=workloads.BATCH_SIZE,
        learning_rate=_CLIENT_LEARNING_RATE,
        fed_fish=self._fed_fish,
      )
    if context is None:
      context = self._worker if name == 'stock' else self._context
    model, weights = self._model, self._model.initial_weights
    if name == 'cohort_keras':
      model = self._network.create_variable_model
      weights = map(list, weights)
    if name == 'cohort_datasets':
      cohorts = (self._datasets() for _ in itertools.count())
    else:
      cohorts = itertools.repeat(
        self._datasets() if name == 'stock' else self._client_batches()
      )
    process = build_process(
      model,
      fed_fish=self._fed_fish,
      compiles_loops=name == 'cohort_compiled',
    )
    weights = tff.learning.models.ModelWeights(*weights)
    stack = tff.framework.get_context_stack()

    def start() -> Round:
      with stack.install(context):
        state = process.set_model_weights(process.initialize(), weights)

      def run() -> list[np.ndarray]:
        with stack.install(context):
          output = process.next(state, next(cohorts))
        return list(output.state.global_model_weights.trainable)

      return run

    return start

  def write_task(
    self, path: str, expected: Sequence[np.ndarray], *, repeats: int
  ) -> None:
    """Writes the round for peers to compute on the cores of this process.

    Args:
      path: The file.
      expected: The weights after the round.
      repeats: The number of timed rounds.
    """
    weights = [np.asarray(w) for w in self._model.initial_weights[0]]
    np.savez(
      path,
      x=np.stack([x for x, _ in self._clients]),
      y=np.stack([y for _, y in self._clients]),
      num_weights=len(weights),
      **{f'weights_{i}': w for i, w in enumerate(weights)},
      **{f'expected_{i}': w for i, w in enumerate(expected)},
      batch_size=workloads.BATCH_SIZE,
      learning_rate=_CLIENT_LEARNING_RATE,
      repeats=repeats,
      cores=sorted(os.sched_getaffinity(0)),
    )

  def _client_batches(self) -> list[datasets.ClientBatches]:
    # The form in which the package's own simulations pass batches.
    return [
      datasets.sequential_batches(
        client, client_id=str(i), batch_size=workloads.BATCH_SIZE
      )
      for i, client in enumerate(self._clients)
    ]

  def _datasets(self) -> list[tf.data.Dataset]:
    return [
      tf.data.Dataset.from_tensor_slices(client).batch(workloads.BATCH_SIZE)
      for client in self._clients
    ]
