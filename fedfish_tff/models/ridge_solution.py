# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Ridge regression on one-hot labels, from sums alone.

With features phi, the constant 1 appended, the sums over all examples are

  gram = sum phi phi^T,  [p, p],  and  moments = sum phi e_y^T,  [p, C],

with p = num_features + 1. They suffice for each kind of bias: their last rows
are the sums of the features, the number of examples, and that of each class.
This is Fed3R's solution (Fani, Camoriano, Caputo and Ciccone, "Accelerating
Heterogeneous Federated Learning with Closed-form Classifiers", ICML 2024).

`solve_ridge` solves for one lambda in a graph, and `solve_ridge_path` for many
in NumPy.
"""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from fedfish_tff import choices
from fedfish_tff import errors
from fedfish_tff.models import feature_map as feature_map_lib

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_BLOCK = 256
# The official code divides a class' weights by this if they are all zero.
_NO_NORM = 1e-6
_FLOAT64 = (
  'accumulator_dtype=tf.float64 (in a config: algorithm.accumulator=float64)'
)


def solve_ridge(
  gram: tf.Tensor,
  moments: tf.Tensor,
  regularization: tf.Tensor,
  *,
  bias: choices.RidgeBias = choices.RidgeBias.REGULARIZED,
  normalize_classes: bool = True,
) -> tuple[tf.Tensor, tf.Tensor]:
  """Solves (A + lambda I) W = b by Cholesky, in float64.

  Args:
    gram: The sums gram [p, p], float32 or float64, of at least one example.
    moments: The sums moments [p, C].
    regularization: The regularisation lambda, a scalar.
    bias: The kind of bias: a regularised constant, a centred fit, or none.
    normalize_classes: Whether each class' weights and bias are divided by the
      weights' norm, as in the official code.

  Returns:
    (kernel [p - 1, C], bias [C]), float64. Running it fails with a message if
    the matrix is not positive definite: it is singular and lambda is 0, or
    inexact sums have made it so. It also fails if the sums are float32 and of
    fewer than p examples, and lambda is above 0 but less than twice their
    rounding.
  """
  dtype = gram.dtype
  gram = tf.cast(gram, tf.float64)
  moments = tf.cast(moments, tf.float64)
  # Without the hint, a Python number would become float32.
  regularization = tf.cast(
    tf.convert_to_tensor(regularization, dtype_hint=tf.float64), tf.float64
  )
  if dtype == tf.float32:
    with tf.control_dependencies([_check_precise(gram, regularization)]):
      gram = tf.identity(gram)
  matrix, right = _build_equations(gram, moments, bias)
  return _to_classifier(
    _solve(matrix, right, regularization, dtype),
    gram,
    moments,
    bias,
    normalize_classes=normalize_classes,
  )


def solve_ridge_path(
  feature_map: feature_map_lib.FeatureMap,
  statistics: Mapping[str, np.ndarray],
  regularizations: Sequence[float],
  *,
  bias: choices.RidgeBias = choices.RidgeBias.REGULARIZED,
  normalize_classes: bool = True,
) -> dict[float, tff.learning.models.ModelWeights]:
  """Solves for each lambda, from one set of sums.

  One eigendecomposition A = Q S Q^T serves all lambdas: W(lambda) is
  Q (S + lambda I)^-1 Q^T b. It runs in NumPy on all cores.

  Args:
    feature_map: The map of the features that were summed.
    statistics: The sums gram [p, p] and moments [p, C] of at least one example:
      a Fed3R state's `statistics`.
    regularizations: The lambdas, 0 or more. One too small for A + lambda I to
      be invertible, or for float32 sums of fewer examples than features, is
      refused.
    bias: The kind of bias, as in `solve_ridge`.
    normalize_classes: Whether each class' weights and bias are divided by the
      weights' norm, as in the official code.

  Returns:
    The weights of the model by `create_feature_classifier`, by lambda, in the
    given order.
  """
  gram = np.asarray(statistics['gram'])
  moments = np.asarray(statistics['moments'])
  size = feature_map.num_features + 1
  if gram.shape != (size, size):
    raise errors.InputError(
      f'The sums must be of shape ({size}, {size}), since the feature map '
      f'gives {feature_map.num_features} features, got {gram.shape}.'
    )
  count = gram[-1, -1].astype(np.float64)
  if not count > 0:
    raise errors.InputError(
      'The sums must be of one client at least, got no example.'
    )
  check_regularizations(regularizations)
  is_float32 = gram.dtype == np.float32
  precision = np.finfo(gram.dtype).eps
  gram = gram.astype(np.float64)
  moments = moments.astype(np.float64)
  # See `_check_precise` and `_solve` on these bounds.
  sums_rounding = precision * np.trace(gram)
  for regularization in regularizations:
    if is_float32 and count < size and 0 < regularization < 2 * sums_rounding:
      raise _input_error(
        _coarse_sums_message(regularization, count, size, sums_rounding)
      )
  matrix, right = _build_equations(gram, moments, bias)
  values, vectors = np.linalg.eigh(matrix)
  projected = vectors.T @ right
  scale = len(matrix) * np.diagonal(matrix).max()
  path = {}
  for regularization in map(float, regularizations):
    shifted = values + regularization
    rounding = precision if regularization == 0 else np.finfo(np.float64).eps
    if not shifted[0] > rounding * scale:
      raise _input_error(
        _singular_message(regularization, is_float32=is_float32)
      )
    kernel, intercept = _to_classifier(
      vectors @ (projected / shifted[:, None]),
      gram,
      moments,
      bias,
      normalize_classes=normalize_classes,
    )
    path[regularization] = tff.learning.models.ModelWeights(
      (
        *feature_map.initial_weights,
        np.asarray(kernel, np.float32),
        np.asarray(intercept, np.float32),
      ),
      (),
    )
  return path


def check_regularizations(regularizations: Sequence[float]) -> None:
  """Raises InputError unless there are lambdas, all 0 or positive."""
  if not len(regularizations):
    raise errors.InputError('There must be one lambda at least, got none.')
  for regularization in regularizations:
    errors.check_range('lambda', regularization, least=0)


def _build_equations(
  gram: Any, moments: Any, bias: choices.RidgeBias
) -> tuple[Any, Any]:
  """Returns (A, b) of a kind of bias, from float64 sums in NumPy or a graph."""
  errors.check_choice('bias', bias, choices.RidgeBias)
  if bias is choices.RidgeBias.REGULARIZED:
    return gram, moments
  matrix, right = gram[:-1, :-1], moments[:-1]
  if bias is choices.RidgeBias.CENTERED:
    sums, count = gram[:-1, -1:], gram[-1, -1]
    matrix = matrix - sums * (gram[-1:, :-1] / count)
    right = right - sums * (moments[-1:] / count)
  return matrix, right


def _to_classifier(
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


def _coarse_sums_message(
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


def _singular_message(regularization: Any, *, is_float32: bool) -> list[Any]:
  """Returns the message, in parts, on a singular matrix."""
  return [
    'With lambda =',
    regularization,
    'the sums of the features have no ridge solution: A + lambda I is '
    'singular or not positive definite in working precision; take a larger '
    'lambda, or more examples' + (f', or {_FLOAT64}.' if is_float32 else '.'),
  ]


def _epsilon(dtype: tf.DType) -> tf.Tensor:
  """Returns the distance from 1 to the next number of a type, as float64."""
  epsilon = {tf.float32: 2.0**-23, tf.float64: 2.0**-52}[dtype]
  return tf.constant(epsilon, tf.float64)


def _check_precise(gram: tf.Tensor, regularization: tf.Tensor) -> tf.Operation:
  """Returns an assertion that lambda is not lost in rounding of float32 sums.

  Sums of fewer examples than features have eigenvalues that are 0 except for
  rounding, about +-epsilon * trace(A). Added to lambda, they change W in
  proportion, and the matrix does not reveal it.
  """
  size = gram.shape[0]
  count = gram[-1, -1]
  rounding = _epsilon(tf.float32) * tf.linalg.trace(gram)
  return tf.debugging.Assert(
    # Without lambda the matrix is singular, and `_solve` reports it.
    tf.equal(regularization, 0)
    | (count >= size)
    | (rounding <= regularization / 2),
    _coarse_sums_message(regularization, count, size, rounding),
  )


def _solve(
  matrix: tf.Tensor,
  right: tf.Tensor,
  regularization: tf.Tensor,
  dtype: tf.DType,
) -> tf.Tensor:
  """Returns (matrix + regularization I)^-1 right, from sums of `dtype`."""
  size = matrix.shape[0]
  diagonal = tf.linalg.diag_part(matrix)
  # Without lambda, an eigenvalue below the rounding of the sums counts as 0,
  # even if it is regular in float64. With lambda, the rounding of the
  # factorisation counts here, and `_check_precise` checks that of the sums.
  rounding = (
    tf.where(tf.equal(regularization, 0), _epsilon(dtype), _epsilon(tf.float64))
    * size
    * tf.reduce_max(diagonal)
  )
  factor, smallest = _cholesky(
    tf.linalg.set_diag(matrix, diagonal + regularization), rounding
  )
  solvable = tf.debugging.Assert(
    smallest > rounding,
    _singular_message(regularization, is_float32=dtype == tf.float32),
  )
  with tf.control_dependencies([solvable]):
    return tf.linalg.cholesky_solve(factor, right)


def _cholesky(
  matrix: tf.Tensor, floor: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
  """Returns (lower factor, smallest eigenvalue of a pivot block).

  TensorFlow's own factorisation fails without a reason if the matrix is not
  positive definite. This one checks blocks of pivots first. If the smallest
  eigenvalue is not above `floor`, the factor must not be used.
  """
  size = matrix.shape[0]
  smallest = tf.reduce_max(tf.linalg.diag_part(matrix))
  factor = tf.zeros([size, 0], matrix.dtype)
  for start in range(0, size, _BLOCK):
    width = min(_BLOCK, size - start)
    known = factor[start:]
    panel = matrix[start:, start : start + width] - tf.matmul(
      known, known[:width], transpose_b=True
    )
    pivots = panel[:width]
    # Non-finite pivots have no eigenvalues; those of zeros are not above floor.
    is_finite = tf.reduce_all(tf.math.is_finite(pivots))
    lowest = tf.reduce_min(
      tf.linalg.eigvalsh(tf.where(is_finite, pivots, tf.zeros_like(pivots)))
    )
    smallest = tf.minimum(smallest, lowest)
    identity = tf.eye(width, dtype=matrix.dtype)
    corner = tf.linalg.cholesky(tf.where(smallest > floor, pivots, identity))
    column = [tf.zeros([start, width], matrix.dtype), corner]
    if start + width < size:
      solved = tf.linalg.triangular_solve(
        corner, tf.linalg.matrix_transpose(panel[width:])
      )
      column.append(tf.linalg.matrix_transpose(solved))
    factor = tf.concat([factor, tf.concat(column, axis=0)], axis=1)
  return factor, smallest


def _input_error(parts: Sequence[Any]) -> errors.InputError:
  """Returns the error whose message is given in parts."""
  return errors.InputError(
    ' '.join(p if isinstance(p, str) else f'{p:g}' for p in parts)
  )
