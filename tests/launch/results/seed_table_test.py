# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of tables over seeds, against NumPy."""

import math

from launch.results import seed_table

from absl.testing import absltest
import numpy as np
import pandas as pd


def _rows(missing=0, **values):
  return [
    seed_table.Row([name], {'a': pd.Series(of, dtype=float)}, missing)
    for name, of in values.items()
  ]


def _make(rows, **directions):
  return seed_table.make_table(['Method'], {'a': 'A'}, rows, directions)


class OverSeedsTest(absltest.TestCase):
  def test_finite_values_count(self):
    values = [0.1, 0.25, math.nan, 0.7, math.inf, -math.inf]
    cell = seed_table.over_seeds(values)
    finite = np.array(values)[[0, 1, 3]]
    self.assertAlmostEqual(cell.mean, finite.mean(), places=15)
    self.assertAlmostEqual(cell.deviation, finite.std(ddof=1), places=15)
    self.assertEqual((cell.seeds, cell.diverged), (3, 2))

  def test_one_or_none(self):
    self.assertTrue(math.isnan(seed_table.over_seeds([0.5]).deviation))
    none = seed_table.over_seeds([math.inf])
    self.assertTrue(math.isnan(none.mean))
    self.assertEqual((none.seeds, none.diverged), (0, 1))


class MakeTableTest(absltest.TestCase):
  def test_cells_tell_seeds_where_they_are_others(self):
    table = _make(_rows(x=[0.1, 0.2], y=[0.3, 0.5], z=[0.4, math.inf], none=[]))
    self.assertEqual(
      table.rows,
      [
        ['Method', 'A'],
        ['x', '0.1500 ± 0.0707'],
        ['y', '0.4000 ± 0.1414'],
        ['z', '0.4000 (1 seed), diverged: 1 of 2'],
        ['none', ''],
      ],
    )
    self.assertIn('over 2 seeds', table.notes[0])
    (_, row) = _make(_rows(missing=1, x=[0.5])).rows
    self.assertEqual(row, ['x', '0.5000, missing: 1'])

  def test_what_beats_all_others_in_each_interval_is_bold(self):
    rng = np.random.default_rng(0)
    low = rng.normal(0.5, 0.1, 6)
    rows = _rows(low=low, middle=low + 0.1, high=low + 0.2)
    higher = {'a': {'higher_is_better': True}}
    self.assertEqual(_make(rows, **higher).bold, [(3, 1)])
    lower = {'a': {'higher_is_better': False}}
    self.assertEqual(_make(rows, **lower).bold, [(1, 1)])
    self.assertEmpty(_make(rows).bold)
    # Differences of both signs, few seeds, a tie, and a seed that diverged.
    noise = np.array([0.1, -0.1, 0.2, -0.2, 0.1, 0.0])
    for values in (low + 0.2 - noise, low + 0.2, [math.inf, *low[1:] + 0.3]):
      rows = _rows(low=low, high=low + 0.2, other=values)
      self.assertEmpty(_make(rows, **higher).bold)
    rows = _rows(low=low[:4], high=low[:4] + 0.2)
    self.assertEmpty(_make(rows, **higher).bold)
    # What has diverged in all seeds is beaten.
    rows = _rows(low=low, high=low + 0.2, none=[math.inf] * 6)
    self.assertEqual(_make(rows, **higher).bold, [(2, 1)])
