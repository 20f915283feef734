# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Convolutional networks for small images, as functional models.

All output logits. Initial weights are Glorot uniform, biases zero.
"""

from collections.abc import Sequence
import itertools
import math

from fedfish_tff import errors
from fedfish_tff.datasets import random_streams
from fedfish_tff.models import supervised

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


def create_compact_cnn(
  *,
  input_shape: Sequence[int],
  num_classes: int,
  seed: int,
  filters: Sequence[int] = (16, 32, 32),
) -> tff.learning.models.FunctionalModel:
  """Creates a network of strided convolutions that is fast on a CPU.

  Each convolution halves height and width (kernels of 5x5 in the first, 3x3 in
  the others, stride 2, relu); a dense layer gives the logits. There is no
  pooling, no normalisation and no dropout: a step is a few operations.

  Args:
    input_shape: (height, width, channels) of the images, float32.
    num_classes: Number of classes; labels are int32 [batch].
    seed: The initial weights are a function of it alone.
    filters: Output channels of the convolutions.

  Returns:
    A model with the metrics loss (mean cross-entropy), accuracy and
    num_examples: with the default filters, 46,110 weights for 62 classes of
    28x28x1.

  Raises:
    errors.InputError: If a size is not a positive integer.
  """
  height, width, channels = input_shape
  for name, value in (
    *(('input_shape', size) for size in input_shape),
    ('num_classes', num_classes),
    *(('filters', size) for size in filters),
  ):
    if not isinstance(value, (int, np.integer)) or value < 1:
      raise errors.InputError(
        f'{name} holds {value!r}; positive integers were expected.'
      )
  shapes = []
  for size, (fan_in, fan_out) in zip(
    itertools.chain([5], itertools.repeat(3)),
    itertools.pairwise([channels, *filters]),
  ):
    shapes.append((size, size, fan_in, fan_out))
    height, width = math.ceil(height / 2), math.ceil(width / 2)
  shapes.append((height * width * shapes[-1][-1], num_classes))

  def predict(
    weights: tuple[tf.Tensor, ...], x: tf.Tensor, training: bool
  ) -> tf.Tensor:
    del training  # The same pass in training and evaluation.
    *convolutions, (kernel, bias) = _layers(weights)
    for layer in convolutions:
      x = _convolve(x, *layer, strides=2, padding='SAME')
    return tf.nn.bias_add(tf.reshape(x, [-1, kernel.shape[0]]) @ kernel, bias)

  return supervised.create_classifier(
    predict, _glorot_weights(shapes, seed), input_shape=input_shape
  )


def _layers(
  weights: tuple[tf.Tensor, ...],
) -> list[tuple[tf.Tensor, tf.Tensor]]:
  """Returns (kernel, bias) of each layer."""
  return list(zip(weights[::2], weights[1::2], strict=True))


def _convolve(
  x: tf.Tensor,
  kernel: tf.Tensor,
  bias: tf.Tensor,
  *,
  strides: int,
  padding: str,
) -> tf.Tensor:
  x = tf.nn.conv2d(x, kernel, strides, padding)
  return tf.nn.relu(tf.nn.bias_add(x, bias))


def _glorot_weights(
  shapes: Sequence[tuple[int, ...]], seed: int
) -> tuple[np.ndarray, ...]:
  """Returns (kernel, bias, kernel, bias, ...): Glorot uniform and zeros."""
  weights = []
  for layer, shape in enumerate(shapes):
    receptive_field = math.prod(shape[:-2])
    limit = np.sqrt(6 / (receptive_field * (shape[-2] + shape[-1])))
    stream = random_streams.random_generator('initial weights', seed, layer)
    kernel = stream.uniform(-limit, limit, shape)
    weights += [kernel.astype(np.float32), np.zeros(shape[-1], np.float32)]
  return tuple(weights)
