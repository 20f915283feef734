# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the tables of a sweep's runs, and of their groups."""

import csv
import io

from launch.results import result_table
from launch.results import run_table
from launch.results import text_table
from tests.launch.sweeps import fake_sweeps

from absl.testing import absltest
import numpy as np

_VALIDATION = 'validation/global/accuracy'
_COLUMNS = (_VALIDATION, 'test/global/accuracy', 'csb')


def _read(content):
  return list(csv.DictReader(io.StringIO(content.decode())))


def _read_groups(results, column=_VALIDATION):
  """Returns the rows of the groups for a column."""
  rows = _read(result_table.sweep_to_csv(results))
  return [row for row in rows if row['metric'] == column]


class SweepTableTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    runs = fake_sweeps.grid(
      ['fed_avg', 'fed_fish'], client_learning_rate=(0.01, 0.05), seed=(0, 1)
    )
    values = [0.2, 0.3, 0.8, 0.6, 0.7, None, 0.9]
    _, self.results = fake_sweeps.write_results(
      self,
      runs,
      values,
      [{'test': value} for value in values],
      more_test={'global/confusion_a_as_b': 3},
    )
    self.failures = {runs[-1].name: 'its process, "x", was killed'}

  def test_a_row_a_run(self):
    usage = {self.results['run'][0]: {'seconds': 2.5, 'peak_bytes': 1000}}
    rows = _read(
      run_table.to_csv(self.results, failures=self.failures, usage=usage)
    )
    self.assertLen(rows, 8)
    self.assertEqual(rows[0]['run'], 'fed_avg-client_learning_rate_0.01-seed_0')
    self.assertEqual(rows[0]['client_learning_rate'], '0.01')
    self.assertEqual(rows[0]['status'], 'done')
    self.assertEqual(rows[0]['seconds'], '2.5')
    self.assertEqual(rows[0]['validation/global/accuracy'], '0.2')
    self.assertEqual(rows[0]['total/local_steps'], '7')
    self.assertEqual(rows[5]['test/global/accuracy'], 'nan')
    self.assertEqual(rows[-1]['status'], 'failed')
    self.assertEqual(rows[-1]['reason'], 'its process, "x", was killed')
    self.assertEqual(rows[-1]['test/global/accuracy'], '')
    rows = _read(run_table.to_csv(self.results, failures={}, usage={}))
    self.assertEqual(rows[-1]['status'], 'unfinished')

  def test_runs_that_have_diverged(self):
    runs = fake_sweeps.grid(
      ['fed_avg'], client_learning_rate=(0.01, 0.05), seed=(0, 1)
    )
    _, results = fake_sweeps.write_results(
      self, runs, [0.2, 0.2, 0.9, 0.9], [{}, {}, {}, {'diverged': 3}]
    )
    rows = _read(run_table.to_csv(results, failures={}, usage={}))
    self.assertEqual(
      [row['status'] for row in rows], ['done'] * 3 + ['diverged in round 3']
    )
    self.assertEqual(rows[3][_VALIDATION], 'nan')
    # Its rates, which look better, are not the best.
    self.assertEqual(
      [row['best'] for row in _read_groups(results)], ['yes', '']
    )

  def test_a_row_a_group(self):
    rows = _read_groups(self.results)
    self.assertLen(rows, 4)
    self.assertNotIn('seed', rows[0])
    self.assertEqual([row['best'] for row in rows], ['', 'yes', '', ''])
    self.assertEqual([row['finished'] for row in rows], ['2', '2', '2', '1'])
    self.assertAlmostEqual(float(rows[1]['mean']), 0.7)
    self.assertAlmostEqual(
      float(rows[1]['deviation']), np.std([0.8, 0.6], ddof=1)
    )
    self.assertEqual(rows[2]['diverged'], '1')
    self.assertEqual(rows[2]['deviation'], '')
    columns = {
      row['metric'] for row in _read(result_table.sweep_to_csv(self.results))
    }
    self.assertFalse([name for name in columns if 'num_examples' in name])
    # Sixteen counts of four classes are for runs.csv.
    self.assertFalse([name for name in columns if 'confusion' in name])

  def test_markdown_shows_the_best_rates(self):
    text = text_table.to_markdown(
      'Sweep x', result_table.of_sweep(self.results, _COLUMNS)
    )
    self.assertIn('# Sweep x\n\n7 of 8 runs are finished.', text)
    self.assertIn(
      'Judged by Accuracy, global model on validation clients.', text
    )
    self.assertIn(
      'edge of its grid, so a wider grid may hold a better one: '
      'client_learning_rate 0.05 of FedAvg.',
      text,
    )
    lines = [
      ' '.join(line.split())
      for line in text.splitlines()
      if line.startswith('|')
    ]
    self.assertIn('seeds finished and finite: FedFish (2 of 4 runs', text)
    self.assertEqual(
      lines,
      [
        '| Method | Client learning rate | Validation accuracy, global model | '
        'Test accuracy, global model | Barrier in accuracy |',
        '| --- | --- | ---: | ---: | ---: |',
        '| FedAvg | 0.05 | 0.70 ± 0.14 | 0.70 ± 0.14 | 0.2500 |',
      ],
    )

  def test_markdown_shows_every_group_without_rates(self):
    runs = fake_sweeps.grid(['fed_avg', 'fed_fish', 'damped'], seed=(0, 1))
    _, found = fake_sweeps.write_results(self, runs, [0.5, 0.5, 0.6, 0.7, None])
    text = text_table.to_markdown('x', result_table.of_sweep(found, _COLUMNS))
    text = ' '.join(text.split())
    self.assertIn('deviation over 2 seeds', text)
    self.assertIn('| FedAvg | 0.5000 |', text)
    self.assertIn('| FedFish | 0.650 ± 0.071 |', text)
    self.assertIn(
      '| FedFish, mean of Fisher values, damping 0.0001 | diverged (1 of 1), '
      'missing: 1 |',
      text,
    )
    table = result_table.of_sweep(found, _COLUMNS)
    lines = text_table.to_latex('x', table).splitlines()
    self.assertStartsWith(lines[0], '% x')
    self.assertIn(
      r'FedFish & 0.650 $\pm$ 0.071 & 0.5000 & 0.2500 \\',
      lines,
    )
    rows = _read_groups(found)
    self.assertEqual([row['best'] for row in rows], ['', 'yes', ''])
    (row,) = _read_groups(found[:2])
    self.assertEqual(row['best'], '')

  def test_megabytes_are_those_of_all_rounds(self):
    runs = fake_sweeps.grid(['fed_avg', 'fed_fish'], seed=(0,))
    each = [{'totals': {'wire_bytes': sent}} for sent in (1_250_000, 3_000_000)]
    _, found = fake_sweeps.write_results(self, runs, [0.5, 0.5], each)
    table = result_table.of_sweep(found, ['bytes'])
    self.assertEqual(
      [row[-1] for row in table.rows],
      ['MB sent, both ways', '1.25', '3'],
    )

  def test_what_stands_out_is_bold(self):
    runs = fake_sweeps.grid(['fed_avg', 'fed_fish'], seed=range(6))
    values = [0.1, 0.2, 0.3, 0.4, 0.5, 0.55, *[0.6] * 6]
    table = result_table.of_sweep(
      fake_sweeps.write_results(self, runs, values)[1], _COLUMNS
    )
    # All are the same on test clients and in the barrier.
    self.assertEqual(table.bold, [(2, 1)])
    self.assertIn('p_holm', table.notes[-1])

  def test_those_that_tie_with_the_best_are_best_too(self):
    runs = fake_sweeps.grid(['fed_avg', 'fed_fish', 'damped'], seed=(0,))
    _, found = fake_sweeps.write_results(self, runs, [0.7, 0.7 + 1e-8, 0.6])
    rows = _read_groups(found)
    self.assertEqual([row['best'] for row in rows], ['yes', 'yes', ''])

  def test_names_of_a_stranger(self):
    evil = 'x\n\\input{y} <b> [a](http://b) \x1b[31m'
    found = self.results[:2].assign(
      synthetic=evil, variant=f'=1+{evil}', title=f'=1+{evil}'
    )
    for line in text_table.to_latex(
      evil, result_table.of_sweep(found)
    ).splitlines():
      self.assertRegex(line, r'^(%|\\|=1\+|Method)')
      self.assertTrue(line.startswith('%') or r'\input' not in line, line)
    text = text_table.to_markdown(evil, result_table.of_sweep(found))
    self.assertNotRegex(text, r'<b>|[^\\]\[a|\x1b')
    self.assertLen(text.splitlines(), 10)
    for table in (
      result_table.sweep_to_csv(found),
      run_table.to_csv(found, failures={}, usage={}),
    ):
      (variant, *_) = {row['variant'] for row in _read(table)}
      self.assertStartsWith(variant, "'=1+x\\n")
      self.assertNotIn(b'\x1b', table)

  def test_markdown_of_nothing(self):
    runs = fake_sweeps.grid(['fed_avg'], client_learning_rate=(0.1, 1.0))
    _, found = fake_sweeps.write_results(self, runs, [])
    text = text_table.to_markdown('x', result_table.of_sweep(found))
    self.assertIn('0 of 2 runs are finished', text)
    self.assertIn('No run has a result to show yet.', text)
    self.assertNotIn('None', text)
    for line in text_table.to_latex(
      'x', result_table.of_sweep(found)
    ).splitlines():
      self.assertStartsWith(line, '% ')
