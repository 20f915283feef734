# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The distance between two learned representations."""

import numpy as np


def principal_angle_distance(one: np.ndarray, other: np.ndarray) -> float:
  """Returns the sine of the largest angle between two column spaces.

  It is ||(I - A A^T) B||_2 for bases A and B: definition 4.1 of Tziotis et al.
  (arXiv:2206.02078).

  Args:
    one: A matrix [d, k] of rank k; its columns need not be orthonormal.
    other: Another matrix [d, k] of rank k.

  Returns:
    The distance from 0, for the same space, to 1, if a direction of `other` is
    orthogonal to all of `one`.
  """
  a, b = (np.linalg.qr(np.asarray(m, np.float64)).Q for m in (one, other))
  return float(np.linalg.norm(b - a @ (a.T @ b), 2))
