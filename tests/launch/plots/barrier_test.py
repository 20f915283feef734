# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the barrier scatter."""

from launch.plots import barrier

from absl.testing import absltest
import numpy as np


class PlotBarrierScatterTest(absltest.TestCase):
  def test_points_line_and_labels(self):
    x, y = np.array([0.1, 0.2]), np.array([0.3, -0.1])
    figure = barrier.plot_barrier_scatter(x, y, np.array([1, 2]), metric='mse')
    axis = figure.axes[0]
    np.testing.assert_allclose(
      axis.collections[0].get_offsets(), np.stack([x, y], axis=1)
    )
    diagonal = axis.lines[0].get_xydata()
    np.testing.assert_array_equal(diagonal[:, 0], diagonal[:, 1])
    self.assertEqual(axis.get_xlim(), axis.get_ylim())
    self.assertEqual(axis.get_xlabel(), 'FedFish: barrier in MSE')
    self.assertEqual(axis.get_ylabel(), 'FedAvg: barrier in MSE')

  def test_the_method_on_x_is_lower_above_the_line(self):
    figure = barrier.plot_barrier_scatter(
      np.array([0.1]), np.array([0.2]), np.array([1])
    )
    positions = {t.get_text(): t.get_position() for t in figure.axes[0].texts}
    x, y = positions['lower for FedFish']
    self.assertGreater(y, x)
    x, y = positions['lower for FedAvg']
    self.assertLess(y, x)


if __name__ == '__main__':
  absltest.main()
