# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Ridge regression on one-hot labels, from sums alone.

With features phi, the constant 1 appended, the sums over all examples are

  gram = sum phi phi^T,  [p, p],  and  moments = sum phi e_y^T,  [p, C],

with p = num_features + 1. They suffice for each kind of bias: their last rows
are the sums of the features, the number of examples, and that of each class.
See Fed3R (Fani, Camoriano, Caputo and Ciccone, "Accelerating Heterogeneous
Federated Learning with Closed-form Classifiers", ICML 2024).
"""

from fedfish_tff import choices
from fedfish_tff.models import ridge_equations

import tensorflow as tf

_BLOCK = 256


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
    bias: The kind of bias.
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
  matrix, right = ridge_equations.build_equations(gram, moments, bias)
  return ridge_equations.to_classifier(
    _solve(matrix, right, regularization, dtype),
    gram,
    moments,
    bias,
    normalize_classes=normalize_classes,
  )


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
    ridge_equations.coarse_sums_message(regularization, count, size, rounding),
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
    ridge_equations.singular_message(
      regularization, is_float32=dtype == tf.float32
    ),
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
