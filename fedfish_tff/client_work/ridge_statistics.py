# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""One client's sums, from which closed-form classifiers are solved.

Fed3R (Fani et al., ICML 2024): A_k = sum phi phi^T and b_k = sum phi e_y^T over
a client's examples, with phi the features of a frozen feature map and an
appended 1. There is one pass over the data, in chunks large enough for an
efficient matrix product, whatever the sizes of the batches.
"""

import collections

from fedfish_tff import errors
from fedfish_tff import finite_checks
from fedfish_tff.models import autograph
from fedfish_tff.models import feature_map as feature_map_lib
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff


def build_ridge_statistics(
  feature_map: feature_map_lib.FeatureMap,
  data_type: tff.types.SequenceType,
  *,
  num_classes: int,
  with_gram: bool = True,
  accumulator_dtype: tf.DType = tf.float32,
  chunk_size: int = 1024,
) -> tff.Computation:
  """Builds the computation of one client's sums.

  With p = num_features + 1, `gram` [p, p] is the sum of phi phi^T, and
  `moments` [p, C] that of phi e_y^T. The last of the p is the constant 1, so
  the last rows are the sum of features, the number of examples and that of each
  class.

  Args:
    feature_map: The feature map phi, with its initial weights.
    data_type: The type of a client's batches (x, y).
    num_classes: C, the number of classes; labels are from 0 to C - 1.
    with_gram: Whether there is a `gram`; class means need none.
    accumulator_dtype: The type of products and sums, tf.float32 or tf.float64.
    chunk_size: The number of examples per computation and product of features:
      smaller batches are joined, and larger ones divided.

  Returns:
    A computation of type (B* -> <statistics=<gram=..., moments=...>,
    excluded=int32>), unplaced. A client with inputs or sums that are not finite
    is left out: its sums are zero, and `excluded` is 1. A label outside of the
    classes raises an error that says so. Where XLA compiles the computation
    there are no such errors, and that client is left out.
  """
  errors.check_integer('num_classes', num_classes, least=2)
  errors.check_positive_integer('chunk_size', chunk_size)
  feature_map.check()
  if accumulator_dtype not in (tf.float32, tf.float64):
    raise errors.InputError(
      'accumulator_dtype must be tf.float32 or tf.float64, got '
      f'{accumulator_dtype!r}.'
    )
  num_features = feature_map.num_features
  size = num_features + 1

  def add_batch(state, batch):
    """Adds the products of some rows of features."""
    sums, finite = state
    x, y = model_functions.split_batch(batch)
    y = tf.reshape(y, [-1])
    are_labels = (y >= 0) & (y < num_classes)
    # Features may hide it: a relu, fused with a product, can turn NaN into
    # zero.
    finite &= finite_checks.all_finite([x]) & tf.reduce_all(are_labels)
    with tf.control_dependencies([_check_labels(y, are_labels, num_classes)]):
      labels = tf.one_hot(y, num_classes, dtype=accumulator_dtype)
    features = feature_map(feature_map.initial_weights, x)
    features = tf.cast(tf.cast(features, tf.float32), accumulator_dtype)
    ones = tf.ones_like(features[:, :1])
    features = tf.concat([features, ones], axis=1)
    added = collections.OrderedDict()
    if with_gram:
      added['gram'] = tf.matmul(features, features, transpose_a=True)
    added['moments'] = tf.matmul(features, labels, transpose_a=True)
    return tf.nest.map_structure(tf.add, sums, added), finite

  @tff.tensorflow.computation(data_type)
  def ridge_statistics(dataset):
    @autograph.graph_function
    def run(data):
      zeros = collections.OrderedDict()
      if with_gram:
        zeros['gram'] = tf.zeros([size, size], accumulator_dtype)
      zeros['moments'] = tf.zeros([size, num_classes], accumulator_dtype)
      # With fewer rows than a chunk, adding products would take longer than
      # computing them.
      sums, finite = data.rebatch(chunk_size).reduce(
        (zeros, tf.constant(True)), add_batch
      )
      finite &= _is_finite(sums)
      return collections.OrderedDict(
        statistics=tf.nest.map_structure(
          lambda t: tf.where(finite, t, tf.zeros_like(t)), sums
        ),
        excluded=tf.cast(tf.logical_not(finite), tf.int32),
      )

    return run(dataset)

  return ridge_statistics


def _check_labels(
  y: tf.Tensor, are_labels: tf.Tensor, num_classes: int
) -> tf.Operation:
  """Returns an assertion that all labels are classes."""
  return tf.debugging.Assert(
    tf.reduce_all(are_labels),
    [
      f'The labels of a batch must be from 0 to {num_classes - 1}, got labels '
      'from',
      tf.reduce_min(y),
      'to',
      tf.reduce_max(y),
      f'with {num_classes} classes.',
    ],
  )


def _is_finite(
  sums: collections.OrderedDict[str, tf.Tensor],
) -> tf.Tensor:
  """Returns whether a client's sums are finite."""
  checked = [sums['moments']]
  if 'gram' in sums:
    # A product of two features never exceeds the larger one's square.
    checked.append(tf.linalg.diag_part(sums['gram']))
  return finite_checks.all_finite(checked)
