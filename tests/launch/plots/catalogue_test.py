# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the catalogue of plots."""

import dataclasses

from fedfish_tff import errors
from launch.plots import barrier
from launch.plots import catalogue
from launch.plots import curves
from launch.plots import panels
from launch.plots import style
from tests import temporary_folders
from tests.launch import drawn_figures
from tests.launch.results import fake_runs

from absl.testing import absltest
from absl.testing import parameterized

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
  def test_figures_of_a_paper_fit(self, width, others):
    algorithms = ['fed_avg', 'fed_fish']
    algorithms += [f'a_rather_long_method_{i}' for i in range(others)]
    runs = [fake_runs.make_run(a, evaluated=True) for a in algorithms]
    with style.figures_of_width(panels.WIDTHS[width]):
      figures = catalogue.draw(
        fake_runs.frames(runs), _METRIC, catalogue.OF_METHODS
      )
    self.assertLen(figures, 7)
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
