# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the toy regression figure."""

from launch.plots import regression

from absl.testing import absltest
import numpy as np


def _panel(title):
  grid = np.linspace(-2, 2, 9)
  x = np.array([-1.0, 0.0, 1.0])
  return regression.RegressionPanel(
    title=title,
    grid=grid,
    truth=np.sin(3 * grid),
    client_x=[x, x + 0.5],
    client_y=[np.sin(3 * x), np.sin(3 * x + 1.5)],
    local_functions=[np.cos(grid), -np.cos(grid)],
    global_functions={'FedAvg': 0.5 * grid, 'FedFish': 0.7 * grid},
  )


class PlotToyRegressionTest(absltest.TestCase):
  def test_two_panels_an_overlap_and_the_barriers(self):
    barriers = {
      'Full overlap': (np.zeros(3), np.zeros(3)),
      'No overlap': (np.array([0.1, 0.2, 0.3]), np.array([0.3, 0.2, 0.4])),
    }
    figure = regression.plot_toy_regression(
      [_panel(title) for title in barriers], barriers, method='FedFish'
    )
    self.assertLen(figure.axes, 5)
    local, merged = figure.axes[0], figure.axes[2]
    panel = _panel('Full overlap')
    np.testing.assert_array_equal(
      local.lines[3].get_ydata(), panel.local_functions[0]
    )
    np.testing.assert_array_equal(
      merged.lines[4].get_ydata(), panel.global_functions['FedFish']
    )
    scatter = figure.axes[4]
    self.assertIn('3 seeds', scatter.get_title(loc='left'))
    np.testing.assert_array_equal(
      scatter.collections[1].get_offsets(),
      np.stack(barriers['No overlap'], axis=1),
    )
    self.assertEqual(
      [text.get_text() for text in figure.subfigs[1].legends[0].get_texts()],
      list(barriers),
    )
