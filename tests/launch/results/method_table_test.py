# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The table of methods against statistics computed here."""

import csv
import dataclasses
import io
import statistics

from fedfish_tff import errors
from launch.results import method_comparison
from launch.results import method_table
from launch.results import seed_table
from tests.launch.results import fake_runs

from absl.testing import parameterized
import numpy as np

_METRIC = 'eval/global/accuracy'


def _run(seed, values):
  return dataclasses.replace(
    fake_runs.make_run('fed_avg', seed),
    columns={
      'round': np.array([0.0, 2.0, 4.0]),
      _METRIC: np.array(values, np.float64),
      # Evaluated once only.
      'csb/accuracy': np.array([np.nan, 0.25, np.nan]),
    },
    empty={'csb/accuracy': np.array([True, False, True])},
  )


def _read(groups, columns=None, metric=_METRIC):
  named = fake_runs.named(groups).groups()
  return method_table.read_values(named, metric, columns), named


def _rows(groups, metric=_METRIC):
  """Returns the statistics of each label."""
  values, _ = _read(groups, metric=metric)
  return {
    label: {key: seed_table.over_seeds(v) for key, v in of.items()}
    for label, of in values.items()
  }


class MethodTableTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.groups = {
      'A': [_run(0, [9, 1, 5]), _run(1, [9, 2, 8])],
      'B': [_run(0, [9, 3, 4])],
    }
    self.rows = _rows(self.groups)

  def test_mean_and_deviation_over_seeds(self):
    last = self.rows['A'][_METRIC, method_comparison.LAST_ROUND]
    self.assertEqual((last.mean, last.seeds), (6.5, 2))
    self.assertAlmostEqual(last.deviation, statistics.stdev([5, 8]))
    every = self.rows['A'][_METRIC, method_comparison.ALL_ROUNDS]
    self.assertEqual(every.mean, 4)
    self.assertAlmostEqual(every.deviation, statistics.stdev([3, 5]))

  def test_runs_that_diverged_are_counted(self):
    nan, inf = float('nan'), float('inf')
    groups = {
      'A': [_run(0, [9, 1, 5]), _run(1, [9, nan, 8]), _run(2, [9, 2, inf])],
      'B': [_run(0, [9, 1, nan])],
    }
    rows = _rows(groups)
    last = rows['A'][_METRIC, method_comparison.LAST_ROUND]
    self.assertEqual((last.mean, last.seeds, last.diverged), (6.5, 2, 1))
    every = rows['A'][_METRIC, method_comparison.ALL_ROUNDS]
    self.assertEqual((every.mean, every.seeds, every.diverged), (3, 1, 2))
    barrier = rows['A']['csb/accuracy', method_comparison.LAST_ROUND]
    self.assertEqual((barrier.mean, barrier.diverged), (0.25, 0))
    values, _ = _read(groups)
    table = list(
      csv.DictReader(io.StringIO(method_table.to_csv(values).decode()))
    )
    self.assertEqual((table[0]['seeds'], table[0]['diverged']), ('2', '1'))
    (gone, *_) = [row for row in table if row['method'] == 'B']
    self.assertEqual(
      (gone['mean'], gone['seeds'], gone['diverged']), ('', '0', '1')
    )

  def test_what_was_sent_and_the_metric_after_as_much(self):
    groups = {
      label: [fake_runs.make_run(name, seed) for seed in range(2)]
      for label, name in (('A', 'fed_avg'), ('B', 'fed_fish'))
    }
    rows = _rows(groups)
    # In rounds 2, 4 and 6 A has sent as many MB, and B twice as many: 4 in
    # round 2, 8 in round 4.
    sent = method_table.MEGABYTES, method_comparison.LAST_ROUND
    self.assertEqual((rows['A'][sent].mean, rows['B'][sent].mean), (6, 12))
    equal = _METRIC, method_table.EQUAL_BYTES
    self.assertAlmostEqual(rows['A'][equal].mean, 0.605)
    self.assertAlmostEqual(rows['B'][equal].mean, 0.305)
    del groups['B']
    self.assertNotIn(equal, _rows(groups)['A'])

  @parameterized.parameters(
    (_METRIC, [[0.1, np.nan, 0.8], [0.1, 0.9, 0.7]], [0.1, 0.85, 0.7]),
    ('eval/global/mse', [[9, np.inf, 2], [9, 1, 3]], [9, 1.5, 3]),
  )
  def test_time_until_all_runs_are_as_good(self, metric, slow, fast):
    def run(seed, seconds, values):
      columns = {'round': np.arange(3.0), metric: np.array(values)}
      if seconds:
        columns['simulated/seconds'] = np.arange(3.0) * seconds
      made = fake_runs.make_run('fed_avg', seed)
      return dataclasses.replace(made, columns=columns, empty={})

    groups = {
      'slow': [run(0, 10, slow[0]), run(1, 10, slow[1])],
      'fast': [run(0, 1, fast)],
      'untimed': [run(0, 0, [0.5, 0.5, 0.5])],
    }
    rows = _rows(groups, metric)
    # The worst of the bests is that of the first slow run, after 20 seconds;
    # the second one is as good after 10.
    value = slow[0][2]
    until = 'simulated/seconds', f'until {value:.4f}'
    self.assertEqual(
      (rows['slow'][until].mean, rows['slow'][until].seeds), (15, 2)
    )
    self.assertEqual(rows['fast'][until].mean, 1)
    self.assertNotIn(until, rows['untimed'])
    end = 'simulated/seconds', method_comparison.LAST_ROUND
    self.assertEqual([rows[n][end].mean for n in ('slow', 'fast')], [20, 2])

  def test_columns_that_runs_lack_are_left_out(self):
    columns = {column for column, _ in self.rows['B']}
    self.assertEqual(columns, {_METRIC, 'csb/accuracy'})

  def test_the_table_and_csv_say_the_same(self):
    values, groups = _read(self.groups)
    table = method_table.make_table(values, groups)
    self.assertEqual(
      table.rows[0],
      [
        'Method',
        'Validation accuracy',
        'Validation accuracy, mean of rounds',
        'Barrier in accuracy',
        'Barrier in accuracy, mean of rounds',
      ],
    )
    self.assertEqual(table.rows[1][:2], ['A', '6.5000 ± 2.1213'])
    self.assertEqual(table.rows[2][:2], ['B', '4.0000 (1 seed)'])
    text = method_table.to_csv(values).decode()
    first, *_, last = csv.DictReader(io.StringIO(text))
    self.assertEqual((first['method'], float(first['mean'])), ('A', 6.5))
    self.assertEqual((last['method'], last['deviation']), ('B', ''))

  def test_chosen_columns(self):
    runs = [
      dataclasses.replace(
        fake_runs.make_run(seed=seed),
        values={'test/global/accuracy': 0.5 + seed},
      )
      for seed in (0, 1)
    ]
    chosen = ['test/global/accuracy', 'train/loss']
    values, groups = _read({'A': runs}, chosen)
    head, (_, test, loss) = method_table.make_table(values, groups).rows
    self.assertEqual(head, ['Method', 'Test accuracy', 'Training loss'])
    self.assertStartsWith(test, '1.0000')
    self.assertStartsWith(loss, '0.3333')
    with self.assertRaisesRegex(
      errors.InputError, "'train/los'. Did you mean train/loss"
    ):
      _read({'A': runs}, ['train/los'])
