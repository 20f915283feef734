# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the figure of transfer."""

import dataclasses

from research.fedfish import transfer_panels
from tests.launch import drawn_figures
from tests.launch.results import fake_runs

from absl.testing import absltest
import numpy as np

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
