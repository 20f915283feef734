# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks train: networks with and without a Keras model."""

import collections
from collections.abc import Callable
import dataclasses

from fedfish_tff.datasets import random_streams
from fedfish_tff.models import dense
from fedfish_tff.models import transformer

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# As EMNIST with digits and letters has.
NUM_CLASSES = 62
# Those before are special: padding, end and so on.
_FIRST_TOKEN = 4


@dataclasses.dataclass(frozen=True, kw_only=True)
class Network:
  """One architecture.

  Attributes:
    example_shape: Shape of one example's features.
    create_functional: Makes the functional model.
    create_keras_layers: Makes the same layers for Keras, without the input.
  """

  example_shape: tuple[int, ...]
  create_functional: Callable[[], tff.learning.models.FunctionalModel]
  create_keras_layers: Callable[[], list[tf.keras.layers.Layer]]

  def generate_examples(
    self, rng: np.random.Generator, num_examples: int
  ) -> tuple[np.ndarray, np.ndarray]:
    """Returns random (x float32, y int32)."""
    x = rng.uniform(size=(num_examples, *self.example_shape))
    y = rng.integers(0, NUM_CLASSES, num_examples)
    return x.astype(np.float32), y.astype(np.int32)

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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Transformer:
  """A language model of this package.

  Attributes:
    size: One of `transformer.TRANSFORMER_SIZES`.
    vocabulary_size: Number of tokens.
    sequence_length: Tokens of an example.
  """

  size: str
  vocabulary_size: int
  sequence_length: int

  def create_functional(self) -> tff.learning.models.FunctionalModel:
    """Returns the model."""
    return transformer.create_transformer(
      vocabulary_size=self.vocabulary_size,
      seed=0,
      **transformer.TRANSFORMER_SIZES[self.size],
    )

  def generate_examples(
    self, rng: np.random.Generator, num_examples: int
  ) -> tuple[np.ndarray, np.ndarray]:
    """Returns random int32 (x, y) without padding; y is x a token ahead."""
    tokens = rng.integers(
      _FIRST_TOKEN,
      self.vocabulary_size,
      (num_examples, self.sequence_length + 1),
    ).astype(np.int32)
    return tokens[:, :-1], tokens[:, 1:]


def _glorot(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
  receptive = int(np.prod(shape[:-2]))
  limit = np.sqrt(6 / (receptive * (shape[-2] + shape[-1])))
  return rng.uniform(-limit, limit, shape).astype(np.float32)


def _create_cnn() -> tff.learning.models.FunctionalModel:
  rng = random_streams.random_generator('benchmark', 'cnn')
  shapes = ((5, 5, 1, 32), (5, 5, 32, 64), (3136, 512), (512, NUM_CLASSES))
  weights = []
  for shape in shapes:
    weights += [_glorot(rng, shape), np.zeros(shape[-1], np.float32)]

  @tf.function
  def predict(model_weights, x, training):
    del training  # The network has no dropout.
    (k1, b1, k2, b2, w1, c1, w2, c2), _ = model_weights
    for kernel, bias in ((k1, b1), (k2, b2)):
      x = tf.nn.conv2d(x, kernel, 1, 'SAME')
      x = tf.nn.relu(tf.nn.bias_add(x, bias))
      x = tf.nn.max_pool2d(x, 2, 2, 'VALID')
    x = tf.reshape(x, [-1, w1.shape[0]])
    x = tf.nn.relu(tf.nn.bias_add(x @ w1, c1))
    return tf.nn.bias_add(x @ w2, c2)

  def loss(output, label, sample_weight=None):
    del sample_weight  # Examples count alike.
    return tf.reduce_mean(
      tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=label, logits=output
      )
    )

  return tff.learning.models.FunctionalModel(
    initial_weights=(tuple(weights), ()),
    predict_on_batch_fn=predict,
    loss_fn=loss,
    metrics_fns=tff.learning.metrics.create_functional_metric_fns(
      lambda: collections.OrderedDict(
        accuracy=tf.keras.metrics.SparseCategoricalAccuracy()
      )
    ),
    input_spec=(
      tf.TensorSpec([None, 28, 28, 1], tf.float32),
      tf.TensorSpec([None], tf.int32),
    ),
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
    layers.Dense(NUM_CLASSES),
  ]


# 48,670 parameters.
SOFTMAX_REGRESSION = Network(
  example_shape=(784,),
  create_functional=lambda: dense.create_mlp_classifier(
    num_features=784, num_classes=NUM_CLASSES, hidden_units=(), seed=0
  ),
  create_keras_layers=lambda: [tf.keras.layers.Dense(NUM_CLASSES)],
)

# Two convolutions with pooling and a dense layer: 1.7 M parameters.
CNN = Network(
  example_shape=(28, 28, 1),
  create_functional=_create_cnn,
  create_keras_layers=_create_cnn_layers,
)

# 362,240 parameters.
TINY_TRANSFORMER = Transformer(
  size='tiny', vocabulary_size=4096, sequence_length=128
)

# 22.9 M parameters, more than half of them the embedding.
TRANSFORMER_6X384 = Transformer(
  size='6x384', vocabulary_size=32_000, sequence_length=128
)
