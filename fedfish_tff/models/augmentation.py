# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Random crops and mirror images in training, and their seeds."""

from collections.abc import Sequence
from typing import Any

from fedfish_tff import errors
from fedfish_tff.models import extended_model

import tensorflow as tf
import tensorflow_federated as tff


def augment_images(
  model: tff.learning.models.FunctionalModel,
  *,
  padding: int = 4,
  fill: Sequence[float] = (0.0, 0.0, 0.0),
) -> tff.learning.models.FunctionalModel:
  """Makes a model crop and mirror the images that it is trained on.

  In training, each image is padded on all sides, cropped to its size at a
  uniform offset, and mirrored left to right with probability 1/2. This is the
  usual augmentation of CIFAR since He et al., arXiv:1512.03385, section 4.2. In
  evaluation, images stay unchanged.

  The draws are a function of the batch and the last trainable weight, which
  every step changes. So they differ from step to step, and a run is repeatable.

  Args:
    model: A model of x, float32 [batch, height, width, channels].
    padding: The number of pixels on each side, 0 or more.
    fill: The padding's value for each channel, such as that of black pixels
      after standardisation.

  Returns:
    The model, which has the same weights, loss and metrics.
  """
  shape = tf.nest.flatten(model.input_spec)[0].shape
  if shape.rank != 4 or len(fill) != shape[3]:
    raise errors.InputError(
      'Images to augment must be [batch, height, width, channels] with as many '
      f'channels as fill has values, got {shape} and {len(fill)}.'
    )
  errors.check_integer('padding', padding, least=0)

  def crop(x: tf.Tensor, offsets: tf.Tensor, axis: int) -> tf.Tensor:
    """Moves each image by its offset along an axis, and fills the rest."""
    size = shape[axis]
    places = offsets[:, tf.newaxis] - padding + tf.range(size)
    moved = tf.gather(
      x, tf.clip_by_value(places, 0, size - 1), axis=axis, batch_dims=1
    )
    is_inside = tf.reshape(
      (places >= 0) & (places < size),
      [-1, size, 1, 1] if axis == 1 else [-1, 1, size, 1],
    )
    return tf.where(is_inside, moved, tf.constant(fill, x.dtype))

  def augment(
    model_weights: Any, x: tf.Tensor, training: bool
  ) -> tuple[Any, tf.Tensor]:
    if training:
      seed = batch_seed(x, model_weights[0][-1])
      num_images = tf.shape(x)[0]
      offsets = tf.random.stateless_uniform(
        [2, num_images], seed, 0, 2 * padding + 1, tf.int32
      )
      x = crop(crop(x, offsets[0], 1), offsets[1], 2)
      draws = tf.random.stateless_uniform([num_images, 1, 1, 1], seed + [1, 0])
      x = tf.where(draws < 0.5, tf.reverse(x, [2]), x)
    return model_weights, x

  return extended_model.change_inputs(
    model, augment, model.initial_weights, same_tensors=True
  )


def batch_seed(x: Any, weight: tf.Tensor) -> tf.Tensor:
  """Returns a seed, int32 [2], that is a function of a batch and a weight.

  Args:
    x: The batch's inputs, any nest of tensors.
    weight: A weight that each step changes, float32.
  """
  return tf.stack([fingerprint(x), fingerprint(weight)])


def fingerprint(x: Any) -> tf.Tensor:
  """Returns an int32 that is a function of a nest of tensors.

  Integer sums wrap around and do not depend on the order of summation, as float
  sums do.
  """
  totals = []
  for values in tf.nest.flatten(x):
    if values.dtype == tf.string:
      values = tf.strings.to_hash_bucket_fast(values, 2**31 - 1)
    elif values.dtype.is_floating:
      values = tf.bitcast(tf.cast(values, tf.float32), tf.int32)
    totals.append(tf.reduce_sum(tf.cast(values, tf.int32)))
  return tf.add_n(totals)
