# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of statistics over seeds."""

import math

from launch.results import seed_statistics

from absl.testing import absltest
import numpy as np


class SeedStatisticsTest(absltest.TestCase):
  def test_finite_values_count(self):
    values = [0.1, 0.25, math.nan, 0.7, -math.inf]
    cell = seed_statistics.summarize(values)
    finite = np.array(values)[[0, 1, 3]]
    self.assertAlmostEqual(cell.mean, finite.mean(), places=15)
    self.assertAlmostEqual(cell.deviation, finite.std(ddof=1), places=15)
    self.assertEqual((cell.seeds, cell.diverged), (3, 2))
    self.assertEqual(
      seed_statistics.format_cell(cell, 1),
      '0.3500 ± 0.3122 (3 seeds), diverged: 2 of 5, missing: 1',
    )

  def test_one_or_none(self):
    one = seed_statistics.summarize([0.5])
    self.assertEqual(seed_statistics.format_cell(one), '0.5000')
    self.assertTrue(math.isnan(one.deviation))
    none = seed_statistics.summarize([math.nan])
    self.assertTrue(math.isnan(none.mean))
    self.assertEqual(seed_statistics.format_cell(none), 'diverged: 1 of 1')
    self.assertEqual(
      seed_statistics.format_cell(seed_statistics.summarize([])), ''
    )
