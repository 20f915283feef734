# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The ridge solutions of many lambdas, from one set of sums.

One eigendecomposition A = Q S Q^T serves all lambdas: W(lambda) is
Q (S + lambda I)^-1 Q^T b. It runs in NumPy on all cores.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import math
from typing import Any

from fedfish_tff import choices
from fedfish_tff import errors
from fedfish_tff.models import feature_map as feature_map_lib
from fedfish_tff.models import ridge_equations

import numpy as np
import tensorflow_federated as tff


def solve_ridge_path(
  feature_map: feature_map_lib.FeatureMap,
  statistics: Mapping[str, np.ndarray],
  regularizations: Sequence[float],
  *,
  bias: choices.RidgeBias = choices.RidgeBias.REGULARIZED,
  normalize_classes: bool = True,
) -> dict[float, tff.learning.models.ModelWeights]:
  """Solves for each lambda.

  Args:
    feature_map: The map of the features that were summed.
    statistics: The sums gram [p, p] and moments [p, C], see `ridge_solution`; a
      Fed3R state's `statistics`.
    regularizations: The lambdas.
    bias: The kind of bias.
    normalize_classes: Whether each class' weights and bias are divided by the
      weights' norm, see `ridge_solution.solve_ridge`.

  Returns:
    The weights of the model by `create_feature_classifier`, by lambda, in the
    given order.

  Raises:
    errors.InputError: If there is no lambda or one is negative, if the sums are
      of no example or of another width, if A + lambda I is singular, or if
      lambda is too small for float32 sums of fewer examples than features.
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
  # See `ridge_solution` on these bounds.
  sums_rounding = precision * np.trace(gram)
  for regularization in regularizations:
    if is_float32 and count < size and 0 < regularization < 2 * sums_rounding:
      raise _input_error(
        ridge_equations.coarse_sums_message(
          regularization, count, size, sums_rounding
        )
      )
  matrix, right = ridge_equations.build_equations(gram, moments, bias)
  values, vectors = np.linalg.eigh(matrix)
  projected = vectors.T @ right
  scale = len(matrix) * np.diagonal(matrix).max()
  path = {}
  for regularization in map(float, regularizations):
    shifted = values + regularization
    rounding = precision if regularization == 0 else np.finfo(np.float64).eps
    if not shifted[0] > rounding * scale:
      raise _input_error(
        ridge_equations.singular_message(regularization, is_float32=is_float32)
      )
    kernel, intercept = ridge_equations.to_classifier(
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
    if not 0 <= regularization < math.inf:
      raise errors.InputError(
        f'lambda must be a finite number of 0 or more, got {regularization}.'
      )


def _input_error(parts: Sequence[Any]) -> errors.InputError:
  """Returns the error whose message is given in parts."""
  return errors.InputError(
    ' '.join(p if isinstance(p, str) else f'{p:g}' for p in parts)
  )
