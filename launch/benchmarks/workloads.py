# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Models and client data that benchmarks run: generated, of EMNIST's shape."""

import collections
from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import types

from fedfish_tff.datasets import random_streams
from fedfish_tff.models import dense

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_NUM_CLASSES = 62


@dataclasses.dataclass(frozen=True, kw_only=True)
class Workload:
  """A model with equal clients of 100 examples each.

  Attributes:
    name: What the table calls it.
    create_model: Makes the functional model.
    example_shape: Shape of one example's features.
  """

  name: str
  create_model: Callable[[], tff.learning.models.FunctionalModel]
  example_shape: tuple[int, ...]

  def generate_clients(
    self, num_clients: int, *, num_examples: int = 100
  ) -> list[tuple[np.ndarray, np.ndarray]]:
    """Returns each client's (x float32, y int32), random."""
    clients = []
    for i in range(num_clients):
      rng = random_streams.random_generator('benchmark', i)
      x = rng.uniform(size=(num_examples, *self.example_shape))
      y = rng.integers(0, _NUM_CLASSES, num_examples)
      clients.append((x.astype(np.float32), y.astype(np.int32)))
    return clients


def _glorot(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
  receptive = int(np.prod(shape[:-2]))
  limit = np.sqrt(6 / (receptive * (shape[-2] + shape[-1])))
  return rng.uniform(-limit, limit, shape).astype(np.float32)


def create_cnn() -> tff.learning.models.FunctionalModel:
  """Two convolutions, pooling and a dense layer: 1.7 M parameters."""
  rng = random_streams.random_generator('benchmark', 'cnn')
  shapes = ((5, 5, 1, 32), (5, 5, 32, 64), (3136, 512), (512, _NUM_CLASSES))
  weights = []
  for shape in shapes:
    weights += [_glorot(rng, shape), np.zeros(shape[-1], np.float32)]

  @tf.function
  def predict(model_weights, x, training):
    del training  # The network has no dropout.
    (k1, b1, k2, b2, w1, c1, w2, c2), _ = model_weights
    for kernel, bias in ((k1, b1), (k2, b2)):
      x = tf.nn.relu(tf.nn.conv2d(x, kernel, 1, 'SAME') + bias)
      x = tf.nn.max_pool2d(x, 2, 2, 'SAME')
    x = tf.nn.relu(tf.reshape(x, [-1, w1.shape[0]]) @ w1 + c1)
    return x @ w2 + c2

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


def _create_softmax_regression() -> tff.learning.models.FunctionalModel:
  return dense.create_mlp_classifier(
    num_features=784, num_classes=_NUM_CLASSES, hidden_units=(), seed=0
  )


WORKLOADS: Mapping[str, Workload] = types.MappingProxyType(
  {
    'softmax': Workload(
      name='softmax regression 784->62',
      create_model=_create_softmax_regression,
      example_shape=(784,),
    ),
    'cnn': Workload(
      name='CNN, 1.7 M parameters',
      create_model=create_cnn,
      example_shape=(28, 28, 1),
    ),
  }
)
