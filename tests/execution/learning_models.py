# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Models of three kinds, as functions of weights and with variables."""

import collections
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

from tests import tolerance

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# Numbers of examples of the clients; batches are of 4.
SIZES = (9, 4, 0, 17)
BATCH_SIZE = 4
NUM_CLASSES = 3


@dataclasses.dataclass(frozen=True)
class ModelCase:
  """A kind of model.

  Attributes:
    name: What it is called in the names of tests.
    shape: Of an example.
    layers: Makes the layers, with the same initial weights every time.
    functional: Makes the model as functions of its weights; of the layers by
      default.
    relative: By how much two runtimes may differ.
  """

  name: str
  shape: tuple[int, ...]
  layers: Callable[[], list[tf.keras.layers.Layer]]
  functional: (
    Callable[['ModelCase'], tff.learning.models.FunctionalModel] | None
  ) = None
  relative: float = tolerance.FLOAT32_SUMS

  def input_spec(self) -> tuple[tf.TensorSpec, tf.TensorSpec]:
    """Specs of a batch (x, y)."""
    return (
      tf.TensorSpec([None, *self.shape], tf.float32),
      tf.TensorSpec([None], tf.int32),
    )

  def keras_model(self) -> tf.keras.Model:
    """Makes the network."""
    return tf.keras.Sequential(
      [tf.keras.layers.InputLayer(self.shape), *self.layers()]
    )

  def variable(self) -> tff.learning.models.VariableModel:
    """Makes the model with variables."""
    return tff.learning.models.from_keras_model(
      self.keras_model(),
      loss=create_loss(),
      input_spec=self.input_spec(),
      metrics=create_metrics(),
    )

  def model(self, kind: str) -> Any:
    """Returns what builders of algorithms take: 'variable' or 'functional'."""
    if kind == 'variable':
      return self.variable
    return (self.functional or _functional_of_layers)(self)

  def client_data(
    self, sizes: Sequence[int] | None = None, *, seed: int = 7
  ) -> list[tuple[np.ndarray, np.ndarray]]:
    """Returns each client's examples (x, y)."""
    rng = np.random.default_rng(seed)
    return [
      (
        rng.normal(size=(n, *self.shape)).astype(np.float32),
        rng.integers(0, NUM_CLASSES, n).astype(np.int32),
      )
      for n in (SIZES if sizes is None else sizes)
    ]


def create_loss() -> tf.keras.losses.Loss:
  """The loss of all of them."""
  return tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def create_metrics() -> list[tf.keras.metrics.Metric]:
  """The metrics of all of them."""
  return [
    tf.keras.metrics.SparseCategoricalAccuracy('accuracy'),
    tff.learning.metrics.NumExamplesCounter('examples'),
  ]


def _functional_of_layers(
  case: ModelCase,
) -> tff.learning.models.FunctionalModel:
  return tff.learning.models.functional_model_from_keras(
    case.keras_model,
    loss_fn=create_loss(),
    input_spec=case.input_spec(),
    metrics_constructor=_functional_metrics,
  )


def _functional_metrics() -> collections.OrderedDict[str, Any]:
  return collections.OrderedDict(
    loss=tf.keras.metrics.SparseCategoricalCrossentropy(from_logits=True),
    **{metric.name: metric for metric in create_metrics()},
  )


def _glorot(seed: int) -> tf.keras.initializers.Initializer:
  return tf.keras.initializers.GlorotUniform(seed)


def _mlp() -> list[tf.keras.layers.Layer]:
  return [
    tf.keras.layers.Dense(8, 'relu', kernel_initializer=_glorot(1)),
    tf.keras.layers.Dense(NUM_CLASSES, kernel_initializer=_glorot(2)),
  ]


def _cnn() -> list[tf.keras.layers.Layer]:
  return [
    tf.keras.layers.Conv2D(
      4, 3, activation='relu', kernel_initializer=_glorot(1)
    ),
    tf.keras.layers.MaxPooling2D(),
    tf.keras.layers.Conv2D(
      6, 2, activation='relu', kernel_initializer=_glorot(2)
    ),
    tf.keras.layers.GlobalAveragePooling2D(),
    tf.keras.layers.Dense(NUM_CLASSES, kernel_initializer=_glorot(3)),
  ]


def _rnn() -> list[tf.keras.layers.Layer]:
  return [
    tf.keras.layers.GRU(
      5,
      kernel_initializer=_glorot(1),
      recurrent_initializer=_glorot(2),
    ),
    tf.keras.layers.Dense(NUM_CLASSES, kernel_initializer=_glorot(3)),
  ]


def _functional_rnn(case: ModelCase) -> tff.learning.models.FunctionalModel:
  """A plain recurrent network: TFF makes no functions of Keras' ones."""
  num_steps, num_features = case.shape
  rng = np.random.default_rng(3)
  shapes = ((num_features, 5), (5, 5), (5,), (5, NUM_CLASSES), (NUM_CLASSES,))
  weights = tuple(
    rng.normal(scale=0.4, size=shape).astype(np.float32) for shape in shapes
  )

  @tf.function
  def predict(model_weights: Any, x: tf.Tensor, training: bool) -> tf.Tensor:
    del training  # Both are the same.
    (wx, wh, b, w, bias), _ = model_weights
    _, h = tf.while_loop(
      lambda i, _: i < num_steps,
      lambda i, h: (i + 1, tf.tanh(x[:, i] @ wx + h @ wh + b)),
      (tf.constant(0), tf.zeros([tf.shape(x)[0], 5])),
      shape_invariants=(tf.TensorShape([]), tf.TensorShape([None, 5])),
    )
    return h @ w + bias

  def loss(output: Any, label: Any, sample_weight: Any = None) -> tf.Tensor:
    del sample_weight
    return tf.reduce_mean(
      tf.nn.sparse_softmax_cross_entropy_with_logits(label, output)
    )

  return tff.learning.models.FunctionalModel(
    initial_weights=(weights, ()),
    predict_on_batch_fn=predict,
    loss_fn=loss,
    metrics_fns=tff.learning.metrics.create_functional_metric_fns(
      _functional_metrics
    ),
    input_spec=case.input_spec(),
  )


MODELS: Mapping[str, ModelCase] = {
  case.name: case
  for case in (
    ModelCase('mlp', (5,), _mlp),
    ModelCase('cnn', (8, 8, 2), _cnn),
    ModelCase('rnn', (6, 3), _rnn, _functional_rnn),
  )
}
KINDS = ('functional', 'variable')
