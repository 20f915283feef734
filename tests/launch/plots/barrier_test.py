# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the plots of barriers."""

from launch.plots import barrier
from launch.plots import panels
from tests.launch.results import fake_runs

from absl.testing import absltest
import numpy as np


class DrawTest(absltest.TestCase):
  def test_labels_tell_where_the_method_is_lower(self):
    runs = [fake_runs.make_run(a) for a in ('fed_avg', 'fed_fish')]
    frames = fake_runs.frames(runs)
    ((name, figure),) = barrier.draw(frames, 'csb/accuracy').items()
    self.assertEqual(name, 'barrier_accuracy')
    axis = figure.axes[0]
    self.assertLen(axis.collections[0].get_offsets(), len(fake_runs.ROUNDS))
    self.assertEqual(axis.get_xlabel(), 'FedFish: barrier in accuracy')
    self.assertEqual(axis.get_ylabel(), 'FedAvg: barrier in accuracy')
    # The method on the x axis is lower above the line.
    positions = {text.get_text(): text.get_position() for text in axis.texts}
    x, y = positions['lower for FedFish']
    self.assertGreater(y, x)
    x, y = positions['lower for FedAvg']
    self.assertLess(y, x)

  def test_a_method_without_barriers_is_named(self):
    runs = [fake_runs.make_run(a) for a in ('fed_avg', 'fed_fish', 'scaffold')]
    del runs[-1].columns['csb/accuracy']
    (figure,) = barrier.draw(fake_runs.frames(runs), 'csb/accuracy').values()
    note = figure.legends[0].get_title().get_text()
    self.assertEndsWith(note, 'Without a barrier to compare: SCAFFOLD.')

  def test_long_labels_fit(self):
    figure, (axis, *_) = panels.new_grid('abc', (panels.PAPER_COLUMN, 2.3))
    values, rate = np.zeros(2), 'client learning rate 0.01'
    barrier.compare_methods(
      axis, values, values, f'FedProx, {rate}', f'FedAvg, {rate}', 'accuracy'
    )
    self.assertEqual(
      [' '.join(text.get_text().split()) for text in axis.texts],
      ['lower for FedProx', 'lower for FedAvg'],
    )
    figure.draw_without_rendering()
    extent = axis.yaxis.label.get_window_extent()
    self.assertGreaterEqual(extent.y0, 0)
    self.assertLessEqual(extent.y1, figure.bbox.height)
