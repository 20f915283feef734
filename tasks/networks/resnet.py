# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Residual networks with group normalisation, as functional models.

Group normalisation keeps no statistics, so clients share none, and small
batches do no harm (Hsieh et al. 2020, arXiv:1910.00189).
"""

from collections.abc import Iterator
from collections.abc import Sequence
import itertools
import math
from typing import NamedTuple

from fedfish_tff.datasets import random_streams
from fedfish_tff.models import layers
from fedfish_tff.models import supervised

import numpy as np
from scipy import special
from scipy import stats
import tensorflow as tf
import tensorflow_federated as tff

_GROUPS = 32
_EPSILON = 1e-3
# Keras truncates its normal initial weights at so many standard deviations.
_CUT = 2
_STAGES = (64, 128, 256, 512)
_BLOCKS_PER_STAGE = 2


class _Block(NamedTuple):
  """A residual block: two 3x3 convolutions and a shortcut."""

  channels_in: int
  channels: int
  # False in the first block, since its input is normalised already.
  normalize_first: bool


_BLOCKS = tuple(
  _Block(channels_in, channels, normalize_first=number > 0)
  for number, (channels_in, channels) in enumerate(
    itertools.pairwise(
      [_STAGES[0], *np.repeat(_STAGES, _BLOCKS_PER_STAGE).tolist()]
    )
  )
)


def create_resnet18(
  *, input_shape: Sequence[int], num_classes: int, seed: int
) -> tff.learning.models.FunctionalModel:
  """Creates the ResNet-18 with group normalisation that TFF's baselines have.

  A pre-activation network (He et al. 2016, arXiv:1603.05027) with 32 groups: a
  7x7 convolution and a 3x3 max pooling, both with stride 2, four stages of two
  blocks with 64, 128, 256 and 512 channels, average pooling and a dense layer.
  It is the model 'resnet18' of `tff.simulation.baselines.cifar100` without the
  final softmax. As there, no stage after the first pooling has a stride. TFF
  adds 1e-4 times the sum of squared weights to the loss; this model has no
  weight decay.

  Args:
    input_shape: The shape (height, width, channels) of the images, float32.
    num_classes: The number of classes; labels are int32 [batch].
    seed: The seed, which alone decides the initial weights: He normal in the
      convolutions, normal with standard deviation 0.01 in the dense layer.

  Returns:
    A model with the metrics loss (mean cross-entropy), accuracy and
    num_examples: 11,227,812 weights for 100 classes of three channels.
  """
  layers.check_image_shape(input_shape)
  layers.check_sizes(num_classes=[num_classes])
  return supervised.create_classifier(
    _predict,
    _initial_weights(input_shape[-1], num_classes, seed),
    input_shape=input_shape,
  )


def _predict(
  weights: tuple[tf.Tensor, ...], x: tf.Tensor, training: bool
) -> tf.Tensor:
  """Returns logits; takes the weights in the order of `_shapes`."""
  del training  # The same pass in training and evaluation.
  remaining = iter(weights)
  x = tf.nn.conv2d(x, next(remaining), 2, 'SAME')
  x = tf.nn.relu(_normalize(x, remaining))
  x = tf.nn.max_pool2d(x, 3, 2, 'SAME')
  for block in _BLOCKS:
    x = _apply_block(block, x, remaining)
  x = tf.nn.relu(_normalize(x, remaining))
  x = tf.reduce_mean(x, axis=[1, 2])
  kernel, bias = remaining
  return tf.nn.bias_add(tf.matmul(x, kernel), bias)


def _apply_block(
  block: _Block, x: tf.Tensor, remaining: Iterator[tf.Tensor]
) -> tf.Tensor:
  shortcut = x
  if block.normalize_first:
    x = tf.nn.relu(_normalize(x, remaining))
  x = tf.nn.conv2d(x, next(remaining), 1, 'SAME')
  x = tf.nn.relu(_normalize(x, remaining))
  x = tf.nn.conv2d(x, next(remaining), 1, 'SAME')
  if block.channels_in != block.channels:
    shortcut = tf.nn.conv2d(shortcut, next(remaining), 1, 'SAME')
    shortcut = _normalize(shortcut, remaining)
  return shortcut + x


def _normalize(x: tf.Tensor, remaining: Iterator[tf.Tensor]) -> tf.Tensor:
  """Applies group normalisation (Wu and He 2018, arXiv:1803.08494)."""
  scale, offset = next(remaining), next(remaining)
  _, height, width, channels = x.shape
  groups = [_GROUPS, channels // _GROUPS]
  grouped = tf.reshape(x, [-1, height, width, *groups])
  mean, variance = tf.nn.moments(grouped, axes=[1, 2, 4], keepdims=True)
  grouped = tf.nn.batch_normalization(
    grouped,
    mean,
    variance,
    offset=tf.reshape(offset, groups),
    scale=tf.reshape(scale, groups),
    variance_epsilon=_EPSILON,
  )
  return tf.reshape(grouped, [-1, height, width, channels])


def _shapes(
  channels: int, num_classes: int
) -> Iterator[tuple[str, tuple[int, ...]]]:
  """Yields the name and shape of each weight, in the order of their use."""

  def normalization(layer: str, size: int) -> list[tuple[str, tuple[int]]]:
    return [(f'{layer}/scale', (size,)), (f'{layer}/offset', (size,))]

  yield 'convolution/kernel', (7, 7, channels, _STAGES[0])
  yield from normalization('normalization', _STAGES[0])
  for number, block in enumerate(_BLOCKS):
    name, sizes = f'block_{number}', (block.channels_in, block.channels)
    if block.normalize_first:
      yield from normalization(f'{name}/normalization_0', block.channels_in)
    yield f'{name}/convolution_0/kernel', (3, 3, *sizes)
    yield from normalization(f'{name}/normalization_1', block.channels)
    yield f'{name}/convolution_1/kernel', (3, 3, *[block.channels] * 2)
    if block.channels_in != block.channels:
      yield f'{name}/shortcut/kernel', (1, 1, *sizes)
      yield from normalization(f'{name}/shortcut', block.channels)
  yield from normalization('last_normalization', _STAGES[-1])
  yield 'output/kernel', (_STAGES[-1], num_classes)
  yield 'output/bias', (num_classes,)


# The names of the trainable tensors, in the model's order.
RESNET18_TENSORS = tuple(name for name, _ in _shapes(1, 1))


def _initial_weights(
  channels: int, num_classes: int, seed: int
) -> tuple[np.ndarray, ...]:
  weights = []
  for number, (name, shape) in enumerate(_shapes(channels, num_classes)):
    stream = random_streams.random_generator('initial weights', seed, number)
    if len(shape) == 4:
      weight = _he_normal(shape, stream)
    elif len(shape) == 2:
      weight = 0.01 * stream.standard_normal(shape)
    else:
      weight = np.full(shape, name.endswith('/scale'))
    weights.append(weight.astype(np.float32))
  return tuple(weights)


def _he_normal(
  shape: tuple[int, ...], stream: np.random.Generator
) -> np.ndarray:
  """Draws from a normal truncated at two deviations, of variance 2 / fan-in."""
  low, high = special.ndtr([-_CUT, _CUT])
  variance = stats.truncnorm.var(-_CUT, _CUT)
  drawn = special.ndtri(stream.uniform(low, high, shape))
  return drawn * math.sqrt(2 / math.prod(shape[:-1]) / variance)
