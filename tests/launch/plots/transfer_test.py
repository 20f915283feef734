# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the figure of transfer."""

from launch.plots import transfer
from tests.launch import drawn_figures
from tests.launch.results import fake_runs

from absl.testing import parameterized
import numpy as np

_TARGETS = ('c4', 'cc_news', 'stackoverflow')


def _runs(targets):
  runs = fake_runs.make_setting_runs([(1, 6)], tasks=('c4',))
  return fake_runs.with_transfer(runs, targets=targets)


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
