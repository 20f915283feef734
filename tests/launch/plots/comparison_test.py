# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the comparison of workdirs."""

import contextlib
import io
from unittest import mock

from fedfish_tff import errors
from launch.plots import catalogue
from launch.plots import comparison
from tests import temporary_folders
from tests.launch.results import fake_runs


class CompareWorkdirsTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    self._runs, self._output = self.folder / 'runs', self.folder / 'plots'

  def _compare(self, algorithms, **kwargs):
    """Returns what is printed."""
    workdirs = [
      fake_runs.write_workdir(self._runs / f'{a}_{s}', a, s, evaluated=True)
      for a in algorithms
      for s in (0, 1)
    ]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
      comparison.compare_workdirs(workdirs, self._output, **kwargs)
    return out.getvalue()

  def test_the_table_is_printed_and_many_comparisons_are_not(self):
    out = self._compare(('fed_avg', *'abcdefghij'))
    self.assertIn(str(self._output / 'methods.csv'), out)
    table = (self._output / 'methods.md').read_text(encoding='utf-8')
    self.assertIn(table, out)
    self.assertIn('| j ', table)
    self.assertNotIn('mean of rounds', out)
    self.assertIn('too many to print; comparison.csv', out)
    with open(self._output / 'comparison.csv', encoding='utf-8') as file:
      self.assertGreater(len(list(file)), 60)

  def test_differences_are_those_of_the_scores_in_the_table(self):
    values = {
      f'test/global/accuracy{end}': 0.5 + i / 10
      for i, end in enumerate(('', '_worst_tenth', '_median', '_low_tenth'))
    }
    workdirs = []
    for algorithm in ('fed_avg', 'fed_fish'):
      for seed in (0, 1):
        run = fake_runs.make_run(algorithm, seed)
        run.values.clear()
        run.values.update(values)
        folder = self._runs / f'{algorithm}_{seed}'
        workdirs.append(fake_runs.write_run(run, folder))
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
      comparison.compare_workdirs(workdirs, self._output)
    shown = [
      line.split()[3]
      for line in out.getvalue().splitlines()
      if line.startswith('FedFish - ')
    ]
    self.assertEqual(
      [column for column in shown if column.startswith('test/')],
      list(values)[:2],
    )
    self.assertIn('comparison.csv has 2 more, of other scores', out.getvalue())
    rows = (self._output / 'comparison.csv').read_text(encoding='utf-8')
    for column in values:
      self.assertIn(f',{column},', rows)

  def test_tables_are_written_even_if_plots_fail(self):
    with mock.patch.object(
      catalogue,
      'write_figures',
      autospec=True,
      side_effect=errors.InputError('full'),
    ):
      with self.assertRaisesRegex(errors.InputError, 'full'):
        self._compare(('fed_avg', 'fed_fish'))
    self.assertSameElements(
      [path.name for path in self._output.iterdir()],
      ['methods.csv', 'methods.md', 'methods.tex', 'comparison.csv'],
    )

  def test_methods_without_a_common_seed_leave_no_earlier_comparison(self):
    out = self._compare(('fed_avg', 'fed_fish'))
    self.assertNotIn('Not compared', out)
    self.assertTrue((self._output / 'comparison.csv').exists())
    others = [
      fake_runs.write_workdir(self._runs / f'other_{s}', 'fed_fish', s)
      for s in (5, 6)
    ]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
      comparison.compare_workdirs(
        [*(self._runs / f'fed_avg_{s}' for s in (0, 1)), *others], self._output
      )
    self.assertRegex(out.getvalue(), 'Not compared, .*: FedFish')
    self.assertFalse((self._output / 'comparison.csv').exists())

  def test_many_runs_without_an_evaluation_are_counted(self):
    workdirs = [
      fake_runs.write_workdir(self._runs / f'run_{s}', seed=s) for s in range(6)
    ]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
      comparison.compare_workdirs(workdirs, self._output)
    line = out.getvalue().splitlines()[-1]
    self.assertEndsWith(line, f'{workdirs[3]} and 2 more of 6 runs.')
    self.assertNotIn(str(workdirs[4]), line)

  def test_runs_without_the_metric_are_named(self):
    workdir = fake_runs.write_workdir(self._runs / 'other', finished=False)
    (workdir / 'metrics.csv').write_text('round,a\n2,0.5\n')
    complete = fake_runs.write_workdir(self._runs / 'complete', 'fed_fish')
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
      comparison.compare_workdirs([workdir, complete], self._output)
    self.assertIn(
      f'Without eval/global/accuracy, so not in its plots: {workdir}.\n',
      out.getvalue(),
    )
