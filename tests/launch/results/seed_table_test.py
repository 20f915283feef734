# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of tables over seeds, against NumPy."""

import math

from launch.results import seed_table

from absl.testing import absltest
import numpy as np
import pandas as pd

_KEY = ('a', 'last')


def _make(rows, waiting=(), **direction):
  values = pd.concat(
    {(name, *_KEY): pd.Series(of, dtype=float) for name, of in rows.items()},
    names=['method', 'metric', 'rounds', 'seed'],
  )
  return seed_table.make_table(
    pd.DataFrame({'Method': list(rows)}, index=list(rows)),
    {_KEY: 'A'},
    values,
    {_KEY: direction} if direction else {},
    dict.fromkeys(rows, waiting),
  )


class SeedTableTest(absltest.TestCase):
  def test_statistics_of_finite_values(self):
    values = [0.1, 0.25, math.nan, 0.7, math.inf, -math.inf, 0.5, math.inf]
    groups = pd.Series([*'aaaaaabc'])
    table = seed_table.over_seeds(pd.Series(values), groups)
    finite = np.array(values)[[0, 1, 3]]
    expected = [
      [finite.mean(), finite.std(ddof=1), 3, 2],
      [0.5, math.nan, 1, 0],
      [math.nan, math.nan, 0, 1],
    ]
    np.testing.assert_allclose(table, expected, rtol=1e-14)
    self.assertEqual(list(table), ['mean', 'deviation', 'seeds', 'diverged'])

  def test_cells_tell_seeds_where_they_are_others(self):
    table = _make(
      {'x': [0.1, 0.2], 'y': [0.3, 0.5], 'z': [0.4, math.inf], 'none': []}
    )
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
    _, *rows = _make({'x': [0.5], 'none': []}, waiting=[0, 1]).rows
    self.assertEqual(
      rows, [['x', '0.5000, missing: 1'], ['none', 'missing: 2']]
    )

  def test_what_beats_all_others_in_each_interval_is_bold(self):
    low = np.random.default_rng(0).normal(0.5, 0.1, 6)
    rows = {'low': low, 'middle': low + 0.1, 'high': low + 0.2}
    self.assertEqual(_make(rows, higher_is_better=True).bold, [(3, 1)])
    self.assertEqual(_make(rows, higher_is_better=False).bold, [(1, 1)])
    self.assertEmpty(_make(rows).bold)
    # Differences of both signs, a tie, a seed that diverged, and few seeds.
    noise = np.array([0.1, -0.1, 0.2, -0.2, 0.1, 0.0])
    two = {'low': low, 'high': low + 0.2}
    for other in (low + 0.2 - noise, low + 0.2, [math.inf, *low[1:] + 0.3]):
      table = _make({**two, 'other': other}, higher_is_better=True)
      self.assertEmpty(table.bold)
    few = {name: of[:4] for name, of in two.items()}
    self.assertEmpty(_make(few, higher_is_better=True).bold)
    # What has diverged in all seeds is beaten.
    table = _make({**two, 'none': [math.inf] * 6}, higher_is_better=True)
    self.assertEqual(table.bold, [(2, 1)])
