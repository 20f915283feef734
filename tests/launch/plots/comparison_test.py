# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the catalogue of plots and of the comparison of workdirs."""

import contextlib
import csv
import dataclasses
import io
from unittest import mock

from fedfish_tff import errors
from launch.plots import barrier
from launch.plots import catalogue
from launch.plots import comparison
from launch.plots import curves
from launch.plots import panels
from launch.plots import style
from tests import temporary_folders
from tests.launch import drawn_figures
from tests.launch.results import fake_runs

from absl.testing import absltest
from absl.testing import parameterized
import pytest


def _draw_nothing(frames, metric):
  """Draws no figure, where only tables are looked at."""
  del frames, metric
  return {}


class CompareWorkdirsTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    self._runs, self._output = self.folder / 'runs', self.folder / 'plots'
    # What is drawn is not looked at, and to write it takes most of the time.
    self.enter_context(mock.patch.object(style, 'save_figure', autospec=True))

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
    out = self._compare(('fed_avg', *'abcdefghij'), layout=_draw_nothing)
    self.assertIn(str(self._output / 'methods.csv'), out)
    table = (self._output / 'methods.md').read_text(encoding='utf-8')
    self.assertIn(table, out)
    self.assertStartsWith(
      table, '# Methods by Accuracy, global model on validation clients\n'
    )
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
      comparison.compare_workdirs(workdirs, self._output, layout=_draw_nothing)
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

    # The model of a run that stopped early is not that of its last round.
    for name in ('comparison.csv', 'methods.csv'):
      with open(self._output / name, encoding='utf-8') as file:
        rounds = {
          row['metric']: row['rounds']
          for row in csv.DictReader(file)
          if row['metric'].startswith('test/')
        }
      self.assertEqual(rounds, dict.fromkeys(values, "run's model"))

  def test_what_a_reader_must_know_is_told(self):
    runs = [fake_runs.make_run(a) for a in ('fed_avg', 'fed_fish', 'fed_per')]
    runs[1] = dataclasses.replace(runs[1], diverged_round=4)
    runs[1].config['batch_size'] = 8
    runs[2] = dataclasses.replace(runs[2], judged_by='personalized')
    workdirs = [fake_runs.write_run(r, self._runs / r.algorithm) for r in runs]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
      comparison.compare_workdirs(
        workdirs,
        self._output,
        metric='train/loss',
        setting='of one seed',
        left_out='A note',
        bare=True,
      )
    first, second, *_ = out.getvalue().splitlines()
    self.assertRegex(
      first,
      'judged differently, by .* fine-tuning on the other: FedPer, .*Shown is ',
    )
    self.assertEqual(second, 'Diverged in round 4: FedFish, batch size 8.')
    table = (self._output / 'methods.md').read_text(encoding='utf-8')
    self.assertIn(
      '\nA note.\nLeft out of comparison.csv: FedFish, batch size 8 with',
      table,
    )
    self.assertRegex(table, r'\| Method +\| +Training loss \|\n')
    with open(self._output / 'methods.csv', encoding='utf-8') as file:
      metrics = {row['metric'] for row in csv.DictReader(file)}
    self.assertIn('train/loss', metrics)
    captions = (self._output / 'captions.txt').read_text(encoding='utf-8')
    self.assertIn(
      'train_loss_by_round\nLoss, training clients (digits, of one seed).',
      captions,
    )

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
    out = self._compare(('fed_avg', 'fed_fish'), layout=_draw_nothing)
    self.assertNotIn('Not compared', out)
    self.assertTrue((self._output / 'comparison.csv').exists())
    others = [
      fake_runs.write_workdir(self._runs / f'other_{s}', 'fed_fish', s)
      for s in (5, 6)
    ]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
      comparison.compare_workdirs(
        [*(self._runs / f'fed_avg_{s}' for s in (0, 1)), *others],
        self._output,
        layout=_draw_nothing,
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


_METRIC = 'eval/global/accuracy'


def _choose(*runs, metric=None):
  frames = fake_runs.named({'a': runs})
  return catalogue.choose_metric(frames, metric)


class ChooseMetricTest(absltest.TestCase):
  def test_default(self):
    run = fake_runs.make_run()
    self.assertEqual(_choose(run), _METRIC)
    run.columns.pop('eval/global/accuracy')
    self.assertEqual(_choose(run), 'train/loss')
    run.columns['eval/global/num_examples'] = run.columns['round']
    run.columns['eval/global/mse'] = run.columns['round']
    self.assertEqual(_choose(run), 'eval/global/mse')

  def test_what_runs_are_judged_by(self):
    plain, kept = fake_runs.make_run(), fake_runs.make_run()
    kept = dataclasses.replace(kept, judged_by='personalized')
    column = 'eval/personalized/accuracy'
    for run in (plain, kept):
      run.columns[column] = run.columns['round']
    self.assertEqual(_choose(plain, kept), column)
    plain.columns.pop(column)
    self.assertEqual(_choose(plain, kept), 'eval/global/accuracy')
    for group in ('new_global', 'new_fine_tuned'):
      new = dataclasses.replace(kept, judged_by=group)
      new.columns[f'eval/{group}/accuracy'] = new.columns['round']
      self.assertEqual(_choose(new), f'eval/{group}/accuracy')

  def test_an_unknown_metric_lists_what_there_is(self):
    with self.assertRaisesRegex(errors.InputError, "csb/accuracy.*'nothing'"):
      _choose(fake_runs.make_run(), metric='nothing')


class DrawTest(parameterized.TestCase):
  def test_many_methods_fit(self):
    algorithms = [f'a_rather_long_method_{i}' for i in range(8)]
    runs = [fake_runs.make_run(a, evaluated=True) for a in algorithms]
    frames = fake_runs.frames(runs)
    figures = curves.draw(frames, _METRIC, x_axes=['round'])
    plots = [plot for plot in catalogue.OF_METHODS if plot is not barrier.draw]
    figures |= catalogue.draw(frames, _METRIC, plots)
    for name, figure in figures.items():
      with self.subTest(name):
        drawn_figures.check_fits(self, figure)

  @parameterized.parameters(('column', 3), ('page', 1))
  @pytest.mark.thorough
  def test_figures_of_a_paper_fit(self, width, others):
    algorithms = ['fed_avg', 'fed_fish']
    algorithms += [f'a_rather_long_method_{i}' for i in range(others)]
    runs = [fake_runs.make_run(a, evaluated=True) for a in algorithms]
    with style.figures_of_width(panels.WIDTHS[width]):
      figures = catalogue.draw(
        fake_runs.frames(runs), _METRIC, catalogue.OF_METHODS
      )
    self.assertLen(figures, 7)
    self.assertContainsSubset(figures, catalogue.name_figures(_METRIC))
    for name, figure in figures.items():
      with self.subTest(name):
        self.assertEqual(figure.get_figwidth(), panels.WIDTHS[width])
        style.styled_for_paper(drawn_figures.check_fits)(self, figure)


class PlotWorkdirTest(temporary_folders.TestCase):
  def test_it_fills_the_folder_of_plots(self):
    workdir = fake_runs.write_workdir(self.folder / 'w', evaluated=True)
    paths = catalogue.plot_workdir(workdir)
    self.assertContainsSubset(
      [
        'csb_accuracy_by_round.png',
        'eval_global_accuracy_by_bytes.png',
        'personalization_accuracy.png',
        'train_loss_by_round.png',
      ],
      [path.name for path in paths],
    )
    self.assertSameElements(paths, (workdir / 'plots').iterdir())
