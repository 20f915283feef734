# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Client work for a linear representation, with an exactly solved head.

Algorithm 2 of Tziotis et al. (arXiv:2206.02078): the best head on the client's
examples, then the gradient of the representation at that head. Models are those
of `models.create_linear_representation`.
"""

import collections

from fedfish_tff.client_work import client_work_process
from fedfish_tff.client_work import gradient_update
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff


def solve_head(
  weights: model_functions.FlatWeights, dataset: tf.data.Dataset
) -> model_functions.FlatWeights:
  """Solves a client's head on its examples; call inside a `tf.function`.

  w = (B^T X^T X B)^-1 B^T X^T y, in float64. If several heads are best, as with
  too few examples, it is the shortest of them: without examples, 0.

  Args:
    weights: The representation B [d, k], and a head, which is ignored.
    dataset: The client's batches of one epoch.

  Returns:
    B and w [k, 1].
  """
  representation, head = weights.trainable
  wide = tf.cast(representation, tf.float64)
  size = wide.shape[1]

  def add_batch(sums, batch):
    x, y = model_functions.split_batch(batch)
    features = tf.matmul(tf.cast(x, tf.float64), wide)
    gram, moments = sums
    return (
      gram + tf.matmul(features, features, transpose_a=True),
      moments + tf.matmul(features, tf.cast(y, tf.float64), transpose_a=True),
    )

  gram, moments = dataset.reduce(
    (tf.zeros([size, size], tf.float64), tf.zeros([size, 1], tf.float64)),
    add_batch,
  )
  # The fast way fails where the matrix is singular.
  solved = tf.linalg.lstsq(gram, moments, fast=False)
  return weights._replace(
    trainable=(representation, tf.cast(solved, head.dtype))
  )


def build_representation_update(
  *, client_weighting: tff.learning.ClientWeighting
) -> client_work_process.ClientUpdateFn:
  """Builds one client's gradient of the representation, at its solved head.

  Args:
    client_weighting: The client's weight: |D_i| or one. A client without
      examples has weight 0.

  Returns:
    A function for `build_client_work`. Its delta is the tuple of
    (1/m) X^T (X B w - y) w^T and of zeros for the server's head.
  """
  gradient = gradient_update.build_gradient_update(
    client_weighting=client_weighting
  )

  def client_update(bound, weights, dataset, state):
    solved = solve_head(weights, dataset)
    result = gradient(bound, solved, dataset, state)
    of_representation, of_head = result.update['delta']
    return result._replace(
      update=collections.OrderedDict(
        delta=(of_representation, tf.zeros_like(of_head))
      ),
      also_finite=solved.trainable,
    )

  return client_update


def sum_moments(dataset: tf.data.Dataset, num_features: int) -> tf.Tensor:
  """Returns the sum of y^2 x x^T, float32 [d, d]; call inside a `tf.function`.

  Args:
    dataset: A client's batches of one epoch.
    num_features: d, the number of features.
  """

  def add_batch(total, batch):
    x, y = model_functions.split_batch(batch)
    scaled = x * y
    return total + tf.matmul(scaled, scaled, transpose_a=True)

  return dataset.reduce(tf.zeros([num_features, num_features]), add_batch)
