# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of Dirichlet draws of any concentration."""

from fedfish_tff.datasets import dirichlet_draws

from absl.testing import parameterized
import numpy as np
from scipy import stats


class DirichletDrawsTest(parameterized.TestCase):
  @parameterized.parameters(0.01, 0.1, 1.0, 30.0)
  def test_proportions_are_beta_distributed(self, scale):
    concentration = scale * np.array([1.0, 2.0, 0.5])
    drawn = dirichlet_draws.draw_dirichlet(
      np.random.default_rng(0), concentration, 4000
    )
    self.assertEqual(drawn.shape, (4000, 3))
    np.testing.assert_allclose(drawn.sum(axis=1), 1)
    for proportions, a in zip(drawn.T, concentration):
      marginal = stats.beta(a, concentration.sum() - a)
      # Not at all points: many a proportion is 1 up to rounding.
      for point in (1e-6, 0.1, 0.5, 0.9, 1 - 1e-6):
        below = int(np.count_nonzero(proportions <= point))
        found = stats.binomtest(below, 4000, marginal.cdf(point))
        self.assertGreater(found.pvalue, 0.002)

  @parameterized.parameters(0.5, 3.0)
  def test_logarithms_are_those_of_gamma_variates(self, shape):
    drawn = dirichlet_draws.draw_log_gamma(
      np.random.default_rng(1), np.array([shape]), 4000
    )
    found = stats.kstest(np.exp(drawn[:, 0]), stats.gamma(shape).cdf)
    self.assertGreater(found.pvalue, 0.01)

  def test_concentrations_beyond_floats(self):
    for concentration in (0.0, 1e-300, 1e-12):
      drawn = dirichlet_draws.draw_dirichlet(
        np.random.default_rng(2), np.full(4, concentration), 2000
      )
      np.testing.assert_array_equal(np.sort(drawn, axis=1)[:, :-1], 0)
      # Each of the four is as likely as the others.
      found = stats.chisquare(drawn.sum(axis=0))
      self.assertGreater(found.pvalue, 0.01)
