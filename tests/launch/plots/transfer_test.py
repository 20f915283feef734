# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the figure of transfer."""

import dataclasses

from launch.plots import transfer
from tests.launch import drawn_figures
from tests.launch.results import fake_runs

from absl.testing import parameterized
import numpy as np

_TARGETS = ('c4', 'cc_news', 'stackoverflow')


def _runs(tasks=('c4',), epochs=(1, 16), **kwargs):
  runs = fake_runs.make_setting_runs([(n, 6) for n in epochs], tasks=tasks)
  return fake_runs.with_transfer(runs, **kwargs)


def _draw(runs, metric='accuracy'):
  return transfer.plot_transfer(fake_runs.read_settings(runs), metric)


class PlotTransferTest(parameterized.TestCase):
  def test_a_column_a_target_and_a_row_a_round(self):
    figure, caption = _draw(_runs(targets=_TARGETS))
    titles = [axis.get_title('left') for axis in figure.axes]
    self.assertEqual(
      titles,
      [f'{target}, round {at}' for at in ('R/2', 'R') for target in _TARGETS],
    )
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
    self.assertIn('2 seeds', caption)
    self.assertIn('c4 to cc_news: 20 clients (3 too small).', caption)
    drawn_figures.check_fits(self, figure)

  def test_a_caption_tells_diverged_clients(self):
    run = _runs()[0]
    scores = [score._replace(num_diverged=2) for score in run.transfer]
    _, caption = _draw([dataclasses.replace(run, transfer=tuple(scores))])
    self.assertIn('20 clients (3 too small, 2 diverged).', caption)

  def test_several_tasks_and_runs_without_scores(self):
    runs = _runs(tasks=('c4', 'cc_news'), epochs=(1,))
    runs[0] = dataclasses.replace(runs[0], transfer=())
    figure, caption = _draw(runs, 'perplexity')
    self.assertLen(figure.axes, 8)
    self.assertEqual(
      figure.axes[0].get_title('left').split(), 'c4 to c4, round R/2'.split()
    )
    self.assertIn('1 to 2 seeds', caption)
    drawn_figures.check_fits(self, figure)

  def test_without_the_metric_there_is_no_figure(self):
    self.assertIsNone(_draw(_runs(), 'mse'))
    self.assertIsNone(_draw([fake_runs.make_setting_run()]))


class PlotWorkdirTest(parameterized.TestCase):
  @parameterized.parameters(1, 3)
  def test_a_column_a_target_and_a_row_a_round(self, count):
    (run, *_) = _runs(targets=_TARGETS[:count])
    figures = transfer.plot_workdir_transfer(run.transfer, 'c4')
    self.assertEqual(
      list(figures), ['transfer_accuracy', 'transfer_perplexity']
    )
    figure = figures['transfer_accuracy']
    self.assertEqual(
      [axis.get_title('left').replace('\n', ' ') for axis in figure.axes],
      [f'{t}, round {n}' for n in (3, 6) for t in _TARGETS[:count]],
    )
    for i, axis in enumerate(figure.axes):
      (points,) = axis.containers
      first = 0.05 if i < count else 0.1
      ys = first + 0.002 * np.array([0, 25, 50])
      found = np.array(points.lines[0].get_ydata(), float)
      np.testing.assert_allclose(found, ys)
      # The interval of the clients.
      (bars,) = points.lines[2]
      ends = [path.vertices[:, 1] for path in bars.get_paths()]
      np.testing.assert_allclose(
        np.array(ends, float), ys[:, None] + [[-0.01, 0.01]]
      )
    drawn_figures.check_fits(self, figure)

  def test_clients_that_all_diverged(self):
    (run, *_) = _runs(targets=('c4',))
    scores = [
      s._replace(mean=np.nan, low=np.nan, high=np.nan)
      if s.round == 3
      else s._replace(low=np.nan, high=np.nan)
      for s in run.transfer
    ]
    figures = transfer.plot_workdir_transfer(scores, 'c4')
    (axis,) = figures['transfer_accuracy'].axes
    self.assertLen(axis.containers, 1)
