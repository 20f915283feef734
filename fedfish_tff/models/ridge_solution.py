# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Ridge regression on one-hot labels, from its sums alone.

With features phi, the constant 1 appended, the sums over all examples are

  gram = sum phi phi^T,  [p, p],  and  moments = sum phi e_y^T,  [p, C],

p = num_features + 1. They hold all that any bias needs: their last rows are the
sums of the features, the number of examples, and the examples of each class.
Fed3R (Fani, Camoriano, Caputo and Ciccone, "Accelerating Heterogeneous
Federated Learning with Closed-form Classifiers", ICML 2024).
"""

import enum

import tensorflow as tf

# What the official code divides a class' weights by where they are all zero.
_NO_NORM = 1e-6
_BLOCK = 256


class RidgeBias(enum.Enum):
  """What becomes of the bias.

  Attributes:
    REGULARIZED: The weight of the constant feature, regularised as any other:
      the official code's.
    CENTERED: Not regularised, as in scikit-learn's Ridge: features and labels
      are centred.
    NONE: No bias.
  """

  REGULARIZED = 'regularized'
  CENTERED = 'centered'
  NONE = 'none'


def solve_ridge(
  gram: tf.Tensor,
  moments: tf.Tensor,
  regularization: tf.Tensor,
  *,
  bias: RidgeBias = RidgeBias.REGULARIZED,
  normalize_classes: bool = False,
) -> tuple[tf.Tensor, tf.Tensor]:
  """Solves (A + lambda I) W = b by Cholesky, in float64.

  Args:
    gram: [p, p], float32 or float64; sums over one example at least.
    moments: [p, C].
    regularization: lambda, a scalar.
    bias: See `RidgeBias`.
    normalize_classes: Whether each class' weights are divided by their norm,
      and its bias by the same, as the official code does.

  Returns:
    (kernel [p - 1, C], bias [C]), float64. Fails to compute, saying so, if the
    matrix is not positive definite: if it is singular and lambda is 0, or if
    sums that are not exact have made it so.
  """
  # A singular matrix of float32 sums looks regular in float64.
  precision = _epsilon(gram.dtype)
  gram = tf.cast(gram, tf.float64)
  moments = tf.cast(moments, tf.float64)
  # A Python number would go through float32.
  regularization = tf.cast(
    tf.convert_to_tensor(regularization, dtype_hint=tf.float64), tf.float64
  )
  if bias is RidgeBias.REGULARIZED:
    weights = _solve(gram, moments, regularization, precision)
    kernel, intercept = weights[:-1], weights[-1]
  elif bias is RidgeBias.NONE:
    kernel = _solve(gram[:-1, :-1], moments[:-1], regularization, precision)
    intercept = tf.zeros_like(moments[-1])
  else:
    count = gram[-1, -1]
    sums, class_counts = gram[:-1, -1], moments[-1]
    kernel = _solve(
      gram[:-1, :-1] - tf.tensordot(sums, sums / count, 0),
      moments[:-1] - tf.tensordot(sums, class_counts / count, 0),
      regularization,
      precision,
    )
    intercept = (
      class_counts - tf.linalg.matvec(kernel, sums, transpose_a=True)
    ) / count
  if normalize_classes:
    norms = tf.norm(kernel, axis=0)
    norms = tf.where(norms > 0, norms, tf.constant(_NO_NORM, norms.dtype))
    kernel, intercept = kernel / norms, intercept / norms
  return kernel, intercept


def _epsilon(dtype: tf.DType) -> tf.Tensor:
  """Returns the distance from 1 to the type's next number, as float64."""
  epsilon = {tf.float32: 2.0**-23, tf.float64: 2.0**-52}[dtype]
  return tf.constant(epsilon, tf.float64)


def _solve(
  matrix: tf.Tensor,
  right: tf.Tensor,
  regularization: tf.Tensor,
  precision: tf.Tensor,
) -> tf.Tensor:
  """Returns (matrix + regularization I)^-1 right; see `solve_ridge`."""
  size = matrix.shape[0]
  diagonal = tf.linalg.diag_part(matrix)
  # Without lambda, an eigenvalue below the rounding of the sums may as well be
  # 0; with it, eigenvalues are lambda at least, and only the rounding of the
  # factorisation counts.
  rounding = (
    tf.where(tf.equal(regularization, 0), precision, _epsilon(tf.float64))
    * size
    * tf.reduce_max(diagonal)
  )
  factor, smallest = _cholesky(
    tf.linalg.set_diag(matrix, diagonal + regularization), rounding
  )
  solvable = tf.debugging.Assert(
    smallest > rounding,
    [
      'With lambda =',
      regularization,
      'the sums of the features have no ridge solution: A + lambda I is '
      'singular or not positive definite in working precision; a larger '
      'lambda was expected, or more examples.',
    ],
  )
  with tf.control_dependencies([solvable]):
    return tf.linalg.cholesky_solve(factor, right)


def _cholesky(
  matrix: tf.Tensor, floor: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
  """Returns (lower factor, smallest eigenvalue of a pivot block).

  TensorFlow's own fails where the matrix is not positive definite, and does
  not say why. Here blocks of pivots are looked at first: if an eigenvalue is
  not above `floor`, the factor is of no use and the smallest of them tells.
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
    # Of what is not finite there are no eigenvalues, and zero is not above.
    lowest = tf.reduce_min(tf.linalg.eigvalsh(_finite(pivots)))
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


def _finite(matrix: tf.Tensor) -> tf.Tensor:
  """Returns a matrix, or zeros if it is not finite."""
  return tf.where(
    tf.reduce_all(tf.math.is_finite(matrix)), matrix, tf.zeros_like(matrix)
  )
