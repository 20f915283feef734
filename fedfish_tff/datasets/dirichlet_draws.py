# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Dirichlet draws of any concentration.

NumPy's own function does not return for very small concentrations. A Dirichlet
draw is a vector of independent gamma variates divided by their sum, and
Gamma(c) is distributed as Gamma(c + 1) U^(1/c). The logarithm of that stays in
range. Leaving some of the variates out of the sum gives a Dirichlet draw over
the rest.
"""

import numpy as np

# Below this value even logarithms leave the range of floats.
_LEAST_CONCENTRATION = 1e-100


def draw_log_gamma(
  stream: np.random.Generator, concentration: np.ndarray, size: int
) -> np.ndarray:
  """Draws logarithms of gamma variates, float [size, K].

  Args:
    stream: The source of randomness.
    concentration: The shape parameters, float [K].
    size: The number of draws.
  """
  # NumPy would make objects of integers beyond 64 bits.
  concentration = np.maximum(
    np.asarray(concentration, np.float64), _LEAST_CONCENTRATION
  )
  shape = (size, len(concentration))
  log_gamma = np.log(stream.standard_gamma(concentration + 1, shape))
  log_gamma -= stream.standard_exponential(shape) / concentration
  return log_gamma


def draw_dirichlet(
  stream: np.random.Generator, concentration: np.ndarray, size: int
) -> np.ndarray:
  """Draws from a Dirichlet distribution: float [size, K], each with the sum 1.

  Args:
    stream: The source of randomness.
    concentration: The distribution's parameters, float [K].
    size: The number of draws.
  """
  log_gamma = draw_log_gamma(stream, concentration, size)
  weights = np.exp(log_gamma - log_gamma.max(axis=1, keepdims=True))
  return weights / weights.sum(axis=1, keepdims=True)
