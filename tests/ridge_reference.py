# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Ridge regression by scikit-learn, and the sums that it needs by NumPy."""

from fedfish_tff import models

import numpy as np
from sklearn import linear_model


def examples(number, num_features, num_classes, seed):
  """Returns (x, y): features that are not centred, of different scales."""
  rng = np.random.default_rng(seed)
  scale = rng.uniform(0.1, 3, num_features)
  x = rng.normal(1, 1, size=[number, num_features]) * scale
  return x, rng.integers(0, num_classes, number)


def sums(x, y, num_classes, dtype=np.float64):
  """Returns (gram, moments), the constant 1 appended to the features."""
  phi = np.c_[x, np.ones(len(x))]
  gram, moments = phi.T @ phi, phi.T @ np.eye(num_classes)[y]
  return gram.astype(dtype), moments.astype(dtype)


def scikit_learn(x, y, num_classes, regularization, bias):
  """Returns the kernel and bias of ridge regression on one-hot labels."""
  targets = np.eye(num_classes)[y]
  if bias is models.RidgeBias.REGULARIZED:
    x = np.c_[x, np.ones(len(x))]
  ridge = linear_model.Ridge(
    alpha=regularization,
    fit_intercept=bias is models.RidgeBias.CENTERED,
    solver='cholesky',
  ).fit(x, targets)
  kernel = ridge.coef_.T
  if bias is models.RidgeBias.REGULARIZED:
    return kernel[:-1], kernel[-1]
  return kernel, np.broadcast_to(ridge.intercept_, [num_classes])


def rounding_bound(x, regularization):
  """Returns how far apart two solutions in float64 may be, of the largest weight.

  Normal equations lose digits as the condition number of A + lambda I has them,
  which is at most trace(A) / lambda + 1; each elimination may round as often as
  there are features (Higham, Accuracy and Stability, theorem 10.4). Both solutions
  that are compared round, ours and the reference's.
  """
  size = x.shape[1] + 1
  trace = np.sum(np.square(x, dtype=np.float64)) + len(x)
  return 2 * size * np.finfo(np.float64).eps * (trace / regularization + 1)
