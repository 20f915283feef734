# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the figure of linear representations."""

from launch.plots import linear_representation

from absl.testing import absltest
import numpy as np


class PlotLinearRepresentationTest(absltest.TestCase):
  def test_panels_hold_runs_limits_and_shares(self):
    run = (np.array([0.0, 1.0, 2.0]), np.array([0.5, 0.2, 0.1]))
    figure = linear_representation.plot_linear_representation(
      {'FedRep': [run, run], 'SRPFL': [run]},
      {4: [0.1, 0.2], 16: [0.05, 0.07]},
      0.3,
      simulated={16: 0.5},
      derived={'derived': {16: 0.6, 64: 0.4}, 'other': {16: 0.7, 64: 0.3}},
    )
    left, middle, right = figure.axes
    self.assertLen(left.lines, 3)
    # Without the start, at no time.
    np.testing.assert_array_equal(left.lines[0].get_ydata(), [0.2, 0.1])
    self.assertEqual(
      [t.get_text() for t in left.get_legend().get_texts()], ['FedRep', 'SRPFL']
    )
    np.testing.assert_allclose(middle.lines[0].get_ydata(), [0.15, 0.075])
    np.testing.assert_array_equal(
      middle.collections[1].get_offsets(), [[16, 0.05], [16, 0.07]]
    )
    np.testing.assert_array_equal(right.lines[1].get_ydata(), [0.7, 0.3])
    np.testing.assert_array_equal(
      right.collections[0].get_offsets(), [[16, 0.5]]
    )
