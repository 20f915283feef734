# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the plot of the spread over clients."""

from launch.plots import client_spread

from absl.testing import absltest
import numpy as np


class PlotClientSpreadTest(absltest.TestCase):
  def test_clients_are_sorted_from_the_worst(self):
    values = np.array([3.0, 1.0, 2.0, 4.0])
    for higher, expected in ((True, [1, 2, 3, 4]), (False, [4, 3, 2, 1])):
      figure = client_spread.plot_client_spread(
        {'FedAvg': values}, metric='loss', higher_is_better=higher
      )
      (line,) = figure.axes[0].lines
      np.testing.assert_array_equal(line.get_ydata(), expected)
      np.testing.assert_allclose(line.get_xdata(), [0.125, 0.375, 0.625, 0.875])
      self.assertIn(f'worst tenth {expected[0]}.000', line.get_label())


if __name__ == '__main__':
  absltest.main()
