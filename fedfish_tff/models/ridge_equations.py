# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Common parts of ridge solutions for one lambda and for many.

They are the equations (matrix + lambda I) W = right of each kind of bias, the
classifier of W, and the messages if the sums do not determine W. Arrays may be
NumPy's or TensorFlow's.
"""

from typing import Any

from fedfish_tff import choices

import tensorflow as tf

# The official code divides a class' weights by this if they are all zero.
_NO_NORM = 1e-6
_FLOAT64 = (
  'accumulator_dtype=tf.float64 (in a config: algorithm.accumulator=float64)'
)


def build_equations(
  gram: Any, moments: Any, bias: choices.RidgeBias
) -> tuple[Any, Any]:
  """Returns the matrix and the right side, from float64 sums."""
  if bias is choices.RidgeBias.REGULARIZED:
    return gram, moments
  matrix, right = gram[:-1, :-1], moments[:-1]
  if bias is choices.RidgeBias.CENTERED:
    sums, count = gram[:-1, -1:], gram[-1, -1]
    matrix = matrix - sums * (gram[-1:, :-1] / count)
    right = right - sums * (moments[-1:] / count)
  return matrix, right


def to_classifier(
  weights: Any,
  gram: Any,
  moments: Any,
  bias: choices.RidgeBias,
  *,
  normalize_classes: bool,
) -> tuple[tf.Tensor, tf.Tensor]:
  """Returns the (kernel, bias) of W, which solves the equations of `gram`."""
  class_counts = moments[-1]
  if bias is choices.RidgeBias.REGULARIZED:
    kernel, intercept = weights[:-1], weights[-1]
  elif bias is choices.RidgeBias.CENTERED:
    kernel = weights
    predicted = tf.linalg.matvec(kernel, gram[:-1, -1], transpose_a=True)
    intercept = (class_counts - predicted) / gram[-1, -1]
  else:
    kernel, intercept = weights, tf.zeros_like(class_counts)
  if normalize_classes:
    norms = tf.norm(kernel, axis=0)
    norms = tf.where(norms > 0, norms, tf.constant(_NO_NORM, norms.dtype))
    kernel, intercept = kernel / norms, intercept / norms
  return kernel, intercept


def coarse_sums_message(
  regularization: Any, count: Any, size: int, rounding: Any
) -> list[Any]:
  """Returns the message, in parts, on a lambda that is lost in rounding.

  Args:
    regularization: The regularisation lambda.
    count: The number of examples.
    size: p, the number of features with the constant.
    rounding: The rounding error of the float32 sums.
  """
  return [
    'lambda =',
    regularization,
    'is too small for float32 sums of',
    count,
    f'examples, fewer than the {size} features (the constant included): the '
    'sums are rounded by about',
    rounding,
    'and lambda must be twice that at least; take more examples, a larger '
    f'lambda, or {_FLOAT64}.',
  ]


def singular_message(regularization: Any, *, is_float32: bool) -> list[Any]:
  """Returns the message, in parts, on a singular matrix."""
  return [
    'With lambda =',
    regularization,
    'the sums of the features have no ridge solution: A + lambda I is '
    'singular or not positive definite in working precision; take a larger '
    'lambda, or more examples' + (f', or {_FLOAT64}.' if is_float32 else '.'),
  ]
