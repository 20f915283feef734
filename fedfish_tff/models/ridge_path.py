# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The ridge solutions of many lambdas, from one set of sums.

One eigendecomposition A = Q S Q^T serves them all: W(lambda) is
Q (S + lambda I)^-1 Q^T b. It runs in NumPy, on every core.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import math

from fedfish_tff import errors
from fedfish_tff.models import feature_map as feature_map_lib
from fedfish_tff.models import ridge_solution

import numpy as np
import tensorflow_federated as tff

_NO_NORM = 1e-6


def solve_ridge_path(
  feature_map: feature_map_lib.FeatureMap,
  statistics: Mapping[str, np.ndarray],
  regularizations: Sequence[float],
  *,
  bias: ridge_solution.RidgeBias = ridge_solution.RidgeBias.REGULARIZED,
  normalize_classes: bool = False,
) -> dict[float, tff.learning.models.ModelWeights]:
  """Solves for each lambda.

  Args:
    feature_map: What the sums are of.
    statistics: gram [p, p] and moments [p, C] as in `ridge_solution`: a Fed3R
      state's `statistics`.
    regularizations: The lambdas.
    bias: See `ridge_solution.RidgeBias`.
    normalize_classes: As in `ridge_solution.solve_ridge`.

  Returns:
    The weights of the model that `create_feature_classifier` makes, by lambda,
    in the order given.

  Raises:
    errors.InputError: If there is no lambda or one is negative, if the sums are
      of no example or of another width, or if A + lambda I is singular.
  """
  gram = np.asarray(statistics['gram'])
  moments = np.asarray(statistics['moments'])
  size = feature_map.num_features + 1
  if gram.shape != (size, size):
    raise errors.InputError(
      f'The sums are of shape {gram.shape}, but the feature map gives '
      f'{feature_map.num_features} features; ({size}, {size}) was expected.'
    )
  count = gram[-1, -1].astype(np.float64)
  if not count > 0:
    raise errors.InputError(
      'The sums are of no example; those of one client at least were expected.'
    )
  check_regularizations(regularizations)
  precision = np.finfo(gram.dtype).eps
  gram = gram.astype(np.float64)
  moments = moments.astype(np.float64)
  matrix, right = gram, moments
  sums, class_counts = gram[:-1, -1], moments[-1]
  if bias is not ridge_solution.RidgeBias.REGULARIZED:
    matrix, right = matrix[:-1, :-1], right[:-1]
  if bias is ridge_solution.RidgeBias.CENTERED:
    matrix = matrix - np.outer(sums, sums / count)
    right = right - np.outer(sums, class_counts / count)
  values, vectors = np.linalg.eigh(matrix)
  projected = vectors.T @ right
  scale = len(matrix) * np.diagonal(matrix).max()
  path = {}
  for regularization in map(float, regularizations):
    shifted = values + regularization
    rounding = precision if regularization == 0 else np.finfo(np.float64).eps
    if not shifted[0] > rounding * scale:
      raise errors.InputError(
        f'The sums of the features have no ridge solution with lambda '
        f'{regularization}: A + lambda I is singular or not positive definite '
        'in working precision; a larger lambda was expected, or more examples.'
      )
    weights = vectors @ (projected / shifted[:, None])
    if bias is ridge_solution.RidgeBias.REGULARIZED:
      weights, intercept = weights[:-1], weights[-1]
    elif bias is ridge_solution.RidgeBias.CENTERED:
      intercept = (class_counts - sums @ weights) / count
    else:
      intercept = np.zeros_like(class_counts)
    if normalize_classes:
      norms = np.linalg.norm(weights, axis=0)
      norms[norms == 0] = _NO_NORM
      weights, intercept = weights / norms, intercept / norms
    path[regularization] = tff.learning.models.ModelWeights(
      (
        *feature_map.initial_weights,
        weights.astype(np.float32),
        intercept.astype(np.float32),
      ),
      (),
    )
  return path


def check_regularizations(regularizations: Sequence[float]) -> None:
  """Raises InputError unless there are lambdas, all 0 or positive."""
  if not len(regularizations):
    raise errors.InputError('There is no lambda; one at least was expected.')
  for regularization in regularizations:
    if not 0 <= regularization < math.inf:
      raise errors.InputError(
        f'lambda is {regularization}; a finite number that is 0 or positive '
        'was expected.'
      )
