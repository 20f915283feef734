# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the panels of FedFish's figures."""

import dataclasses
import itertools

from launch.results import settings
from research.fedfish import barrier_panels
from research.fedfish import transfer_panels
from research.fedfish import views
from tests.launch import drawn_figures
from tests.launch.results import fake_runs

from absl.testing import absltest
import numpy as np


def _plot(name='accuracy', **kwargs):
  runs = fake_runs.make_setting_runs(**kwargs)
  return barrier_panels.plot_barrier_panels(fake_runs.read_settings(runs), name)


class PlotBarrierPanelsTest(absltest.TestCase):
  def test_a_point_a_seed_and_round_and_a_marker_by_local_epochs(self):
    figure, caption = _plot()
    axis, bar = figure.axes
    self.assertLen(axis.collections, 2)
    for points in axis.collections:
      self.assertLen(points.get_offsets(), 2 * 6)
      x, y = points.get_offsets().T
      np.testing.assert_allclose(y - x, 0.1)
      np.testing.assert_array_equal(points.get_array(), 2 * [*range(1, 7)])
    self.assertEqual(bar.get_ylabel(), 'Round')
    self.assertEqual(
      [text.get_text() for text in figure.legends[0].get_texts()],
      ['1 local epoch', '8 local epochs'],
    )
    self.assertIn('lower for FedFish at 12 of 12 points', caption)

  def test_ties_are_no_lower_barriers(self):
    runs = fake_runs.make_setting_runs()
    for run in runs:
      run.columns['csb/accuracy'][1:] = 1e-9 * (run.algorithm == 'fed_avg')
    found = fake_runs.read_settings(runs)
    _, caption = barrier_panels.plot_barrier_panels(found, 'accuracy')
    self.assertIn('lower for FedFish at 2 of 12 points (10 tied)', caption)

  def test_a_panel_a_task_shaded_by_shares_where_rounds_differ(self):
    figure, _ = _plot(tasks=('digits', 'emnist'), specs=((1, 48), (8, 6)))
    *axes, bar = figure.axes
    self.assertEqual(
      [axis.get_title('left') for axis in axes], ['digits', 'emnist']
    )
    self.assertEqual(bar.get_ylabel(), 'Share of the rounds')
    for points in axes[0].collections:
      self.assertEqual(points.get_array().max(), 1)

  def test_rounds_in_which_a_method_diverged_are_left_out(self):
    runs = fake_runs.make_setting_runs()
    for run in runs[::2]:
      run.columns['csb/accuracy'][2] = np.nan
    found = fake_runs.read_settings(runs)
    figure, caption = barrier_panels.plot_barrier_panels(found, 'accuracy')
    self.assertLen(figure.axes[0].collections[0].get_offsets(), 11)
    self.assertIn('of 11 points', caption)

  def test_without_barriers_there_is_no_figure(self):
    self.assertIsNone(_plot('mse'))
    self.assertIsNone(_plot(algorithms=['fed_fish']))


_TARGETS = ('c4', 'cc_news', 'stackoverflow')


def _runs(tasks=('c4',), epochs=(1, 16), **kwargs):
  runs = fake_runs.make_setting_runs([(n, 6) for n in epochs], tasks=tasks)
  return fake_runs.with_transfer(runs, **kwargs)


def _draw(runs, metric='accuracy'):
  return transfer_panels.plot_transfer(fake_runs.read_settings(runs), metric)


class PlotTransferTest(absltest.TestCase):
  def test_a_column_a_target_and_a_row_a_round(self):
    figure, caption = _draw(_runs(targets=_TARGETS))
    titles = [axis.get_title('left') for axis in figure.axes]
    self.assertEqual(
      titles,
      [f'{target}, round {at}' for at in ('R/2', 'R') for target in _TARGETS],
    )
    entries = {
      text.get_text(): line
      for legend in figure.legends
      for text, line in zip(legend.get_texts(), legend.legend_handles)
    }
    colors = [entries[name].get_color() for name in ('FedAvg', 'FedFish')]
    styles = [
      entries[f'{n} local epoch{s}'].get_linestyle()
      for n, s in ((1, ''), (16, 's'))
    ]
    for i, axis in enumerate(figure.axes):
      score = 0.005 + (0.05 if i < 3 else 0.1)
      expected = [
        score + gain + 0.002 * np.array([0, 25, 50])
        for gain in (0.0, 0.0, 0.1, 0.1)
      ]
      found = [container.lines[0].get_ydata() for container in axis.containers]
      np.testing.assert_allclose(np.array(found, float), expected)
      # A deviation of two seeds to either side.
      (bars,) = axis.containers[0].lines[2]
      np.testing.assert_allclose(
        [np.ptp(path.vertices[:, 1]) for path in bars.get_paths()],
        2 * 0.01 / np.sqrt(2),
      )
      lines = [container.lines[0] for container in axis.containers]
      looks = [(line.get_color(), line.get_linestyle()) for line in lines]
      self.assertEqual(looks, list(itertools.product(colors, styles)))
      self.assertEqual(
        [tick.get_text() for tick in axis.get_xticklabels()],
        ['0 %', '25 %', '50 %'],
      )
    self.assertEndsWith(figure.axes[0].get_ylabel().split(',')[-1], 'half')
    self.assertIn('2 seeds', caption)
    self.assertIn('c4 to cc_news: 20 clients (3 too small).', caption)
    drawn_figures.check_fits(self, figure)

  def test_a_share_that_one_seed_has_shows_no_deviation(self):
    runs = _runs(epochs=(1,))
    runs[0] = dataclasses.replace(
      runs[0],
      transfer=tuple(
        score._replace(mean=np.inf) if score.percent == 25 else score
        for score in runs[0].transfer
      ),
    )
    figure, caption = _draw(runs)
    (bars,) = figure.axes[0].containers[0].lines[2]
    heights = [np.ptp(path.vertices[:, 1]) for path in bars.get_paths()]
    self.assertEqual(heights[1], 0)
    self.assertGreater(min(heights[0], heights[2]), 0)
    self.assertIn('; bars: one standard deviation over seeds.', caption)

  def test_a_caption_tells_bars_of_single_seeds(self):
    runs = _runs(epochs=(1,))
    for of, told in (
      (runs[::2], '95 % intervals of the mean over clients'),
      (
        runs[1:],
        'one standard deviation over seeds or, of a single seed, 95 % intervals '
        'of the mean over clients',
      ),
    ):
      figure, caption = _draw(of)
      self.assertIn(f'; bars: {told}.', caption)
      (bars,) = figure.axes[0].containers[0].lines[2]
      np.testing.assert_allclose(
        [np.ptp(path.vertices[:, 1]) for path in bars.get_paths()], 0.02
      )

  def test_a_caption_tells_diverged_clients(self):
    run = _runs()[0]
    scores = [score._replace(num_diverged=2) for score in run.transfer]
    _, caption = _draw([dataclasses.replace(run, transfer=tuple(scores))])
    self.assertIn('20 clients (3 too small, 2 diverged).', caption)

  def test_a_caption_names_starts_of_clients_models_that_are_drawn(self):
    runs = fake_runs.make_setting_runs(
      [(1, 6)], ('fed_avg', 'fed_rep', 'fed_per'), ('c4',), seeds=(0,)
    )
    _, caption = _draw([*fake_runs.with_transfer(runs[:2]), runs[2]])
    self.assertEndsWith(
      caption,
      "The global model is only a start for clients' models, and in no "
      'comparison: FedRep.',
    )

  def test_several_tasks_and_runs_without_scores(self):
    runs = _runs(tasks=('c4', 'cc_news'), epochs=(1,))
    runs[0] = dataclasses.replace(runs[0], transfer=())
    figure, caption = _draw(runs, 'perplexity')
    self.assertLen(figure.axes, 8)
    self.assertEqual(
      figure.axes[0].get_title('left').split(), 'c4 to c4, round R/2'.split()
    )
    (legend,) = figure.legends
    self.assertEqual(
      [text.get_text() for text in legend.get_texts()], ['FedAvg', 'FedFish']
    )
    self.assertIn('1 to 2 seeds', caption)
    drawn_figures.check_fits(self, figure)

  def test_without_the_metric_there_is_no_figure(self):
    self.assertIsNone(_draw(_runs(), 'mse'))
    self.assertIsNone(_draw([fake_runs.make_setting_run()]))


def _read(*specs):
  """Each spec is (algorithm, local epochs, rounds[, task])."""
  runs = [
    fake_runs.make_setting_run(
      algorithm, local_epochs=epochs, rounds=rounds, task=task
    )
    for algorithm, epochs, rounds, task in (
      (*spec, 'digits')[:4] for spec in specs
    )
  ]
  return fake_runs.read_settings(runs)


def _keys(found):
  table = settings.describe(found).drop(columns='total_epochs')
  return list(table.itertuples(index=False, name=None))


class ViewsTest(absltest.TestCase):
  def test_fixed_rounds_are_those_of_most_epochs_task_by_task(self):
    found = _read(
      ('fed_avg', 1, 6),
      ('fed_avg', 8, 6),
      ('fed_avg', 1, 48),
      ('fed_avg', 1, 12, 'emnist'),
      ('fed_avg', 16, 12, 'emnist'),
      # One number of epochs makes no view.
      ('fed_avg', 1, 5, 'cifar100'),
    )
    self.assertEqual(
      _keys(views.fixed_rounds(found)),
      [
        ('digits', 'FedAvg', 1, 6),
        ('digits', 'FedAvg', 8, 6),
        ('emnist', 'FedAvg', 1, 12),
        ('emnist', 'FedAvg', 16, 12),
      ],
    )

  def test_fixed_compute_forgives_rounding(self):
    # 100 local epochs make 6.25 rounds of 16.
    found = _read(('fed_avg', 1, 100), ('fed_avg', 16, 6), ('fed_avg', 8, 6))
    self.assertEqual(
      _keys(views.fixed_compute(found)),
      [('digits', 'FedAvg', 1, 100), ('digits', 'FedAvg', 16, 6)],
    )
