# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Sizes and weights of layers, each of a kernel and a bias."""

from collections.abc import Iterable
from collections.abc import Sequence
import itertools
import math

from fedfish_tff import errors
from fedfish_tff.datasets import random_streams

import numpy as np
import tensorflow as tf

# As float32 they take 2 GiB, the maximum of a TensorFlow graph.
_MOST_WEIGHTS = 2**29


def check_sizes(**sizes: Sequence[int]) -> None:
  """Raises an InputError for a size that is not a positive integer.

  Classes must be 2 or more, since any prediction of a single one is right.
  """
  for name, values in sizes.items():
    least = 2 if name == 'num_classes' else 1
    for value in values:
      errors.check_integer(name, value, least=least)


def check_widths(**sizes: Sequence[int]) -> tuple[int, ...]:
  """Checks the widths of dense layers that follow each other.

  Args:
    **sizes: The widths of the input and of each layer's output, by name:
      positive integers, with no more weights than a graph can hold.

  Returns:
    All widths.
  """
  check_sizes(**sizes)
  widths = tuple(int(width) for values in sizes.values() for width in values)
  num_weights = sum((a + 1) * b for a, b in itertools.pairwise(widths))
  if num_weights > _MOST_WEIGHTS:
    named = ', '.join(
      f'{name} {", ".join(map(str, values))}' for name, values in sizes.items()
    )
    raise errors.InputError(
      f'Layers of {named} must have at most {_MOST_WEIGHTS:,} weights, got '
      f'{num_weights:,}.'
    )
  return widths


def check_image_shape(input_shape: Sequence[int], *, least: int = 1) -> None:
  """Checks the shape of images.

  Args:
    input_shape: The shape to check, which should be (height, width, channels).
    least: The smallest allowed height and width.
  """
  if len(input_shape) != 3:
    raise errors.InputError(
      f'input_shape must be height, width and channels, got {len(input_shape)} '
      'size(s).'
    )
  check_sizes(input_shape=input_shape)
  height, width, _ = input_shape
  if min(height, width) < least:
    raise errors.InputError(
      f'input_shape must be of images of at least {least}x{least}, got '
      f'{height}x{width}.'
    )


def glorot_weights(
  shapes: Iterable[tuple[int, ...]], seed: int
) -> tuple[np.ndarray, ...]:
  """Draws initial weights: kernels Glorot uniform, biases zero.

  Args:
    shapes: The shape of each layer's kernel: (fan in, fan out) or (height,
      width, input channels, output channels).
    seed: The seed, which with the shapes decides the weights.

  Returns:
    (kernel, bias, kernel, bias, ...), float32.
  """
  weights = []
  for layer, shape in enumerate(shapes):
    receptive_field = math.prod(shape[:-2])
    limit = np.sqrt(6 / (receptive_field * (shape[-2] + shape[-1])))
    stream = random_streams.random_generator('initial weights', seed, layer)
    kernel = stream.uniform(-limit, limit, shape)
    weights += [kernel.astype(np.float32), np.zeros(shape[-1], np.float32)]
  return tuple(weights)


def draw_embedding(
  vocabulary_size: int, embedding_size: int, seed: int
) -> np.ndarray:
  """Draws normal vectors whose mean squared length is 1, float32."""
  stream = random_streams.random_generator('initial weights', seed, 'embedding')
  shape = (vocabulary_size, embedding_size)
  return (stream.standard_normal(shape) / np.sqrt(embedding_size)).astype(
    np.float32
  )


def kernel_and_bias_names(layers: Iterable[str]) -> tuple[str, ...]:
  """Returns the names of (kernel, bias, kernel, ...) from those of layers."""
  return tuple(
    f'{layer}/{part}' for layer in layers for part in ('kernel', 'bias')
  )


def kernels_and_biases(
  weights: tuple[tf.Tensor, ...],
) -> list[tuple[tf.Tensor, tf.Tensor]]:
  """Returns (kernel, bias) of each layer of (kernel, bias, kernel, ...)."""
  return list(zip(weights[::2], weights[1::2], strict=True))
