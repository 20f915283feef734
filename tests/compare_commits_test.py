# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the comparison of two commits."""

from tests import repository

from absl.testing import parameterized
import numpy as np
from scipy import stats

compare_commits = repository.load_script('.ci/compare_commits.py')


def _processes(factor):
  """Makes four pairs of processes, the second of each `factor` times as slow."""
  rng = np.random.default_rng(0)
  return [
    rng.uniform(0.99, 1.01, size=[5, 2, 2]) * [[1.0, 1.0], [factor, 1.0]]
    for _ in range(4)
  ]


class CompareCommitsTest(parameterized.TestCase):
  def test_interval_is_students(self):
    ratios = [1.1, 1.3, 0.9, 1.2]
    logs = np.log(ratios)
    low, high = stats.t.interval(0.95, 3, logs.mean(), stats.sem(logs))
    np.testing.assert_allclose(
      compare_commits.interval(ratios),
      [stats.gmean(ratios), np.exp(low), np.exp(high)],
    )

  @parameterized.parameters((1.85, 'slower'), (1.0, ''), (0.7, 'faster'))
  def test_verdict(self, factor, verdict):
    cells = compare_commits.describe('CNN', _processes(factor)).split(' | ')
    self.assertAlmostEqual(float(cells[2].split()[0]), factor, delta=0.03)
    self.assertAlmostEqual(float(cells[3].split()[0]), 1.0, delta=0.03)
    self.assertEqual(cells[4].rstrip(' |'), verdict)
