# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The ways of computing a round that the benchmark compares."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import itertools
import types
from typing import Any
from typing import NamedTuple

from fedfish_tff import algorithms
from fedfish_tff.datasets import batches
from fedfish_tff.datasets import random_streams
from fedfish_tff.execution import cohort_context
from fedfish_tff.execution.worker import local_worker
from fedfish_tff.models import dense
from fedfish_tff.models import image_models
from fedfish_tff.models import model_functions
from fedfish_tff.models import recurrent_language_model
from fedfish_tff.models import transformer
from launch.benchmarks import bare_loop
from launch.benchmarks import workloads

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

CLIENT_LEARNING_RATE = 0.01
# As EMNIST with digits and letters has.
_NUM_CLASSES = 62

# The tokens before are special: padding, end and so on.
_FIRST_TOKEN = 4

# Images float32 [n, ...] and labels int32 [n], or tokens int32 [n, length] twice.
Client = tuple[np.ndarray, np.ndarray]
# A round; it returns the new weights.
Round = Callable[[], list[np.ndarray]]


class Network(NamedTuple):
  """One architecture.

  Attributes:
    example_shape: Shape of one example's features.
    create_functional: Makes the functional model.
    create_keras_layers: Makes the same layers for Keras, without the input;
      None where it has none.
    vocabulary_size: Of a language model; else 0.
  """

  example_shape: tuple[int, ...]
  create_functional: Callable[[], tff.learning.models.FunctionalModel]
  create_keras_layers: Callable[[], list[tf.keras.layers.Layer]] | None = None
  vocabulary_size: int = 0

  def generate_clients(
    self, num_clients: int, num_examples: int
  ) -> list[Client]:
    """Returns random clients."""
    clients = []
    for i in range(num_clients):
      rng = random_streams.random_generator('benchmark', i)
      if self.vocabulary_size:
        (length,) = self.example_shape
        tokens = rng.integers(
          _FIRST_TOKEN, self.vocabulary_size, (num_examples, length + 1)
        ).astype(np.int32)
        clients.append((tokens[:, :-1], tokens[:, 1:]))
        continue
      x = rng.uniform(size=(num_examples, *self.example_shape))
      y = rng.integers(0, _NUM_CLASSES, num_examples)
      clients.append((x.astype(np.float32), y.astype(np.int32)))
    return clients

  def create_variable_model(self) -> tff.learning.models.VariableModel:
    """Returns a new Keras model, as TFF takes it; its weights are random."""
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


def _transformer(size: str, vocabulary_size: int) -> Network:
  return Network(
    (128,),
    lambda: transformer.create_transformer(
      vocabulary_size=vocabulary_size,
      seed=0,
      **transformer.TRANSFORMER_SIZES[size],
    ),
    vocabulary_size=vocabulary_size,
  )


NETWORKS: Mapping[str, Network] = types.MappingProxyType(
  {
    # 48,670 parameters.
    'softmax': Network(
      (784,),
      lambda: dense.create_mlp_classifier(
        num_features=784, num_classes=_NUM_CLASSES, hidden_units=(), seed=0
      ),
      lambda: [tf.keras.layers.Dense(_NUM_CLASSES)],
    ),
    # 1.7 M parameters.
    'cnn': Network(
      (28, 28, 1),
      lambda: image_models.create_fed_avg_cnn(
        input_shape=(28, 28, 1), num_classes=_NUM_CLASSES, seed=0
      ),
      _create_cnn_layers,
    ),
    # 46,110 parameters.
    'compact_cnn': Network(
      (28, 28, 1),
      lambda: image_models.create_compact_cnn(
        input_shape=(28, 28, 1), num_classes=_NUM_CLASSES, seed=0
      ),
    ),
    # 362,240 parameters.
    'transformer': _transformer('tiny', 4096),
    # 22.9 M parameters, more than half of them the embedding.
    'transformer_6x384': _transformer('6x384', 32_000),
    # 1,412,250 parameters.
    'cifg': Network(
      (20,),
      lambda: recurrent_language_model.create_cifg_lstm(
        vocabulary_size=10_000, seed=0
      ),
      vocabulary_size=10_000,
    ),
  }
)


def build_process(
  model: model_functions.ModelFn, *, fed_fish: bool = False
) -> algorithms.FederatedProcess:
  """Returns FedAvg or FedFish; the server takes plain steps of rate 1."""
  build = algorithms.build_fed_fish if fed_fish else algorithms.build_fed_avg
  return build(
    model,
    tff.learning.optimizers.build_sgdm(CLIENT_LEARNING_RATE),
    tff.learning.optimizers.build_sgdm(1.0),
  )


def client_batches(
  clients: Sequence[Client], batch_size: int
) -> list[batches.ClientBatches]:
  """Returns the clients' data as the package's own simulations pass them."""
  return [
    batches.sequential_batches(client, client_id=str(i), batch_size=batch_size)
    for i, client in enumerate(clients)
  ]


def _datasets(
  clients: Sequence[Client], batch_size: int
) -> list[tf.data.Dataset]:
  return [
    tf.data.Dataset.from_tensor_slices(client).batch(batch_size)
    for client in clients
  ]


class Rounds:
  """The rows of a workload, by the names in `workloads.ROWS`."""

  def __init__(
    self, workload: workloads.Workload, clients: Sequence[Client]
  ) -> None:
    """Makes the models.

    Args:
      workload: What is computed.
      clients: The cohort.
    """
    self._network = NETWORKS[workload.network]
    self._clients = clients
    self._batch_size = workload.batch_size
    self._fed_fish = workload.fed_fish
    self._model = self._network.create_functional()
    self._context = cohort_context.SyncCohortExecutionContext()
    self._worker = local_worker.SyncLocalWorkerExecutionContext()

  @property
  def general_path_reasons(self) -> tuple[str, ...]:
    """Why rounds in the cohort context ran client by client, if they did."""
    return self._context.general_path_reasons

  @property
  def initial_weights(self) -> list[np.ndarray]:
    """Where every round begins."""
    return [np.asarray(w) for w in self._model.initial_weights[0]]

  def close(self) -> None:
    """Ends TFF's worker."""
    self._worker.close()

  def build(self, name: str) -> Callable[[], Round]:
    """Builds a row's process.

    Args:
      name: Of the row.

    Returns:
      A function that initialises it and returns its round. The first round
      traces, compiles and allocates what later ones have at hand.
    """
    if name == 'bare':
      return lambda: bare_loop.build_round(
        self._model,
        self._clients,
        batch_size=self._batch_size,
        learning_rate=CLIENT_LEARNING_RATE,
        fed_fish=self._fed_fish,
      )
    context = self._worker if name == 'stock' else self._context
    model, weights = self._model, self._model.initial_weights
    if name == 'cohort_keras':
      model = self._network.create_variable_model
      weights = map(list, weights)
    if name == 'cohort_datasets':
      cohorts = (
        _datasets(self._clients, self._batch_size) for _ in itertools.count()
      )
    else:
      to_data = _datasets if name == 'stock' else client_batches
      cohorts = itertools.repeat(to_data(self._clients, self._batch_size))
    process = build_process(model, fed_fish=self._fed_fish)
    weights = tff.learning.models.ModelWeights(*weights)
    return lambda: federated_round(process, weights, context, cohorts)


def federated_round(
  process: algorithms.FederatedProcess,
  weights: tff.learning.models.ModelWeights,
  context: tff.framework.SyncContext,
  cohorts: Iterator[Sequence[Any]],
) -> Round:
  """Returns a round of a process that always starts from the same weights."""
  stack = tff.framework.get_context_stack()
  with stack.install(context):
    state = process.set_model_weights(process.initialize(), weights)

  def run():
    with stack.install(context):
      output = process.next(state, next(cohorts))
    return list(output.state.global_model_weights.trainable)

  return run
