# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of tables over seeds, against NumPy."""

import math

from launch.results import method_comparison
from launch.results import seed_table

from absl.testing import parameterized
import numpy as np
import pandas as pd

_KEY = ('a', 'last')


def _make(rows, waiting=(), runs=None, **direction):
  values = pd.concat(
    {(name, *_KEY): pd.Series(of, dtype=float) for name, of in rows.items()},
    names=['method', 'metric', 'rounds', 'seed'],
  )
  if runs is None:
    runs = pd.DataFrame(
      [
        (name, seed, seed not in waiting, 'a')
        for name in rows
        for seed in range(10)
      ],
      columns=['group', 'seed', 'is_finished', 'task'],
    )
  return seed_table.make_table(
    pd.DataFrame({'Method': list(rows)}, index=list(rows)),
    {_KEY: 'A'},
    values,
    {_KEY: dict.fromkeys(runs['task'], direction)} if direction else {},
    runs.assign(family=runs['task'], global_model=True),
  )


class SeedTableTest(parameterized.TestCase):
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
      {'x': [0.1, 0.2], 'y': [0.3, 0.5], 'z': [0.4, math.inf], 'none': []},
      higher_is_better=True,
    )
    self.assertEqual(
      table.rows,
      [
        ['Method', 'A'],
        ['x', '0.150 ± 0.071'],
        ['y', '0.40 ± 0.14'],
        ['z', '0.4000 (1 seed), diverged (1 of 2)'],
        ['none', ''],
      ],
    )
    self.assertIn('over 2 seeds', table.notes[0])
    # Also if most cells have none.
    rows = {'x': [0.1, 0.2], 'y': [math.inf] * 2, 'z': [math.inf] * 2}
    table = _make(rows, higher_is_better=True)
    self.assertEqual(table.rows[1], ['x', '0.150 ± 0.071'])
    self.assertIn('over 2 seeds', table.notes[0])
    _, *rows = _make(
      {'x': [0.5], 'none': []}, [0, 1], higher_is_better=True
    ).rows
    self.assertEqual(
      rows, [['x', '0.5000, missing: 1'], ['none', 'missing: 2']]
    )

  def test_a_cell_tells_the_round_in_which_runs_have_diverged(self):
    runs = pd.DataFrame(
      [('x', s, True, 'a', at) for s, at in enumerate((None, 3, 3))],
      columns=['group', 'seed', 'is_finished', 'task', 'diverged_round'],
    )
    for values, expected in (
      ([0.5, math.inf, math.inf], '0.5000, diverged in round 3 (2 of 3)'),
      # Others have a value of before that.
      ([0.5, 0.5, math.inf], '0.5000, diverged in round 4 (1 of 3)'),
    ):
      runs.loc[2, 'diverged_round'] = 3 if np.isinf(values[1]) else 4
      table = _make({'x': values}, runs=runs, higher_is_better=True)
      self.assertStartsWith(table.rows[1][1], expected.partition(',')[0])
      self.assertEndsWith(table.rows[1][1], expected.partition(',')[2])

  @parameterized.parameters(
    (0.95254, 0.0426, '0.953 ± 0.043'),
    (0.95254, 0.0996, '0.95 ± 0.10'),
    (0.31801, 0.000123, '0.31801 ± 0.00012'),
    (12.345, 3.21, '12.3 ± 3.2'),
    (1234.5, 56.7, '1234 ± 57'),
    (12345.6, 567.8, '12350 ± 570'),
    # The deviation of a constant is rounding.
    (0.318, 0.0, '0.3180'),
    (0.318, 1e-12, '0.3180'),
    (-0.25, math.nan, '-0.2500'),
    (0.0, 0.0, '0.000'),
    (12345.6, math.nan, '12346'),
    (999.97, math.nan, '1000'),
    (-0.001, 0.3, '0.00 ± 0.30'),
    (-0.0, math.nan, '0.000'),
    (1e12, 3e9, '1,000,000,000,000 ± 3,000,000,000'),
    (1e30, math.nan, '1e+30'),
    (-1.23456e30, 5.678e28, '-1.235e+30 ± 5.7e+28'),
  )
  def test_numbers_have_as_many_digits_as_their_deviation_allows(
    self, mean, deviation, expected
  ):
    self.assertEqual(seed_table.format_number(mean, deviation), expected)

  @parameterized.parameters((0.318, '0.318'), (1250, '1250'), (3.0, '3'))
  def test_costs_have_no_zeros_at_their_ends(self, number, expected):
    self.assertEqual(seed_table.format_number(number, is_score=False), expected)

  def test_bold_is_what_beats_all_others_of_its_task(self):
    low = np.random.default_rng(0).normal(0.5, 0.1, 7)
    rows = {'low': low, 'middle': low + 0.1, 'high': low + 0.2}
    self.assertEqual(_make(rows, higher_is_better=True).bold, [(3, 1)])
    self.assertEqual(_make(rows, higher_is_better=False).bold, [(1, 1)])
    self.assertEmpty(_make(rows).bold)
    # One of another task does not compare with it.
    runs = pd.DataFrame(
      [
        (name, seed, True, task)
        for name, task in zip([*rows, 'far'], 'aaab')
        for seed in range(7)
      ],
      columns=['group', 'seed', 'is_finished', 'task'],
    )
    table = _make({**rows, 'far': low + 1}, runs=runs, higher_is_better=True)
    self.assertEqual(table.bold, [(3, 1)])

  def test_the_note_tells_why_nothing_is_bold(self):
    rows = {name: np.arange(6.0) + i for i, name in enumerate('abc')}
    table = _make(rows, higher_is_better=True)
    self.assertEmpty(table.bold)
    self.assertIn(
      'Of 3 methods, bold takes 7 common seeds, and there are 6: nothing is bold',
      table.notes[-1],
    )
    table = _make({'a': [0.1], 'b': [0.2]}, higher_is_better=True)
    self.assertIn('6 common seeds, and there is 1: nothing', table.notes[-1])
    rows = {name: np.arange(7.0) + i for i, name in enumerate('abc')}
    table = _make({**rows, 'lone': []}, higher_is_better=True)
    self.assertEmpty(table.bold)
    self.assertEndsWith(table.notes[-1], 'A (lone).')
    # One of all seeds and one of six are enough; one of five is not.
    for common, is_bold in ((6, True), (5, False)):
      rows = {'a': np.arange(8), 'b': np.arange(8) + 1}
      rows['c'] = np.arange(common) - 9
      table = _make(rows, higher_is_better=True)
      self.assertEqual(bool(table.bold), is_bold)
      self.assertEqual('nothing is bold' in table.notes[-1], not is_bold)
    # One method is not compared.
    self.assertLen(_make({'a': np.arange(7)}, higher_is_better=True).notes, 1)

  def test_notes_are_of_the_task_that_they_are_true_of(self):
    rows = {name: np.arange(6.0) + i for i, name in enumerate('abcd')}
    rows['c'], rows['d'] = rows['c'][:3], rows['d'][:3]
    runs = pd.DataFrame(
      [
        (name, seed, True, task)
        for name, task in zip('abcd', ('one', 'one', 'two', 'two'))
        for seed in range(6)
      ],
      columns=['group', 'seed', 'is_finished', 'task'],
    )
    table = _make(rows, runs=runs, higher_is_better=True)
    self.assertEqual(table.bold, [(2, 1)])
    self.assertIn(method_comparison.BOLD, table.notes)
    self.assertEndsWith(table.notes[-1], 'nothing is bold in A of two.')
    rows['d'] = []
    table = _make(rows, runs=runs, higher_is_better=True)
    self.assertEndsWith(table.notes[-1], ': A of two (d).')
    # A column that the whole task lacks is not its own.
    rows['c'] = []
    table = _make(rows, runs=runs, higher_is_better=True)
    self.assertNotIn('two', ' '.join(table.notes))

  def test_the_rule_of_bold_is_there_if_something_could_be_bold(self):
    for seeds in (5, 6):
      rows = {'a': np.arange(seeds), 'b': -np.arange(seeds)}
      notes = _make(rows, higher_is_better=True).notes
      self.assertEqual(method_comparison.BOLD in notes, seeds > 5)
    rows = {'a': [math.inf] * 6, 'b': [math.inf] * 6}
    self.assertEmpty(_make(rows, higher_is_better=True).notes)
