# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the panels of barriers."""

from research.fedfish import barrier_panels
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
