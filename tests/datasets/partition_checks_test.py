# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the checks and draws of partitions."""

import re

from fedfish_tff import errors
from fedfish_tff.datasets import dirichlet_draws
from fedfish_tff.datasets import partition_checks

from absl.testing import parameterized
import numpy as np
from scipy import stats


class PartitionChecksTest(parameterized.TestCase):
  def test_labels_may_be_any_vector(self):
    for labels in ([1, 2], ['a'], np.zeros(3)):
      np.testing.assert_array_equal(
        partition_checks.check_labels(labels), labels
      )

  @parameterized.parameters(([],), (5,), (np.zeros([2, 2]),))
  def test_labels_that_are_no_vector(self, labels):
    with self.assertRaisesRegex(errors.InputError, 'coarse labels to'):
      partition_checks.check_labels(labels, 'coarse labels')

  def test_vectors_are_not_called_labels(self):
    with self.assertRaisesRegex(
      errors.InputError, r'keys .*vector with one entry per .*\[0\]'
    ):
      partition_checks.check_vector([], 'keys')

  @parameterized.parameters(([None, 'a'],), ([1, 'a'],), ([None, 1.5],))
  def test_labels_without_an_order(self, labels):
    with self.assertRaisesRegex(
      errors.InputError, 'labels to partition by .*cannot be put in order'
    ):
      partition_checks.check_labels(np.array(labels, object))

  def test_numbers_in_range(self):
    partition_checks.check_concentration('alpha', 1e-300)
    partition_checks.check_concentration('alpha', 1e100)
    partition_checks.check_enough_examples(6, num_clients=2, min_examples=3)

  @parameterized.parameters(0, -0.1, 1e308, np.inf, np.nan)
  def test_not_a_concentration(self, value):
    with self.assertRaisesRegex(
      errors.InputError, rf'beta must be .*got {re.escape(str(value))}'
    ):
      partition_checks.check_concentration('beta', value)

  def test_too_few_examples(self):
    with self.assertRaisesRegex(
      errors.InputError, '5 examples cannot give 2 clients at least 3 each'
    ):
      partition_checks.check_enough_examples(5, num_clients=2, min_examples=3)


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
