# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The linear representation model: features of a subspace, and a head."""

from fedfish_tff import errors
from fedfish_tff.datasets import random_streams
from fedfish_tff.models import supervised

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

LINEAR_REPRESENTATION_TENSORS = ('representation/kernel', 'head/kernel')


def create_linear_representation(
  *, num_features: int, num_components: int, seed: int
) -> tff.learning.models.FunctionalModel:
  """Creates y = x B w, trained with half the mean squared error.

  It is the model of section 4 of Tziotis et al. (arXiv:2206.02078) and of
  Collins et al. (arXiv:2102.07078), with the representation B and a client's
  head w.

  Args:
    num_features: d, the width of x, float32 [batch, d]; y is float32 [batch,
      1].
    num_components: k, the dimension of the subspace, at most d.
    seed: The seed, which alone decides the initial B [d, k], a basis of a
      random subspace. The initial w [k, 1] is 0, the mean of all heads if no
      direction is likelier.

  Returns:
    A model with the metrics loss (half the mean squared error), mse (the mean
    squared error) and num_examples.
  """
  errors.check_positive_integer('num_features', num_features)
  errors.check_positive_integer('num_components', num_components)
  if num_components > num_features:
    raise errors.InputError(
      f'num_components must be at most num_features, {num_features}, got '
      f'{num_components}.'
    )
  stream = random_streams.random_generator('initial weights', seed, 0)
  normal = stream.standard_normal([num_features, num_components])

  def predict(
    weights: tuple[tf.Tensor, ...], x: tf.Tensor, training: bool
  ) -> tf.Tensor:
    del training  # The same pass in training and evaluation.
    representation, head = weights
    return tf.matmul(tf.matmul(x, representation), head)

  def squared_error(outputs: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    return tf.math.squared_difference(outputs, labels)[:, 0]

  def example_loss(outputs: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    return squared_error(outputs, labels) / 2

  return supervised.create_supervised_model(
    predict,
    (
      np.linalg.qr(normal).Q.astype(np.float32),
      np.zeros([num_components, 1], np.float32),
    ),
    example_loss=example_loss,
    metrics={'mse': squared_error},
    input_spec=(
      tf.TensorSpec([None, num_features], tf.float32),
      tf.TensorSpec([None, 1], tf.float32),
    ),
  )
