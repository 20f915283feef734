# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of scores against the share that is sent."""

import functools
import math

from launch.plots import exchange_share

from absl.testing import parameterized
import numpy as np


def _line(level):
  return {0.5: [level, level + 0.02], 0.1: [level + 0.1], 1.0: [0.9, 0.7]}


_plot = functools.partial(exchange_share.plot_scores, x_label='Share')


class ExchangeShareTest(parameterized.TestCase):
  def test_means_over_seeds_and_the_level_of_all(self):
    figure = _plot(
      {'': {'beta 1': {'largest': _line(0.5)}, 'beta 0.5': {}}},
      metric='accuracy',
      title='Accuracy',
      reference='FedAvg',
    )
    first, second = figure.axes
    reference, line = first.lines
    np.testing.assert_allclose(reference.get_ydata(), 0.8)
    np.testing.assert_allclose(line.get_xdata(), [0.1, 0.5, 1])
    np.testing.assert_allclose(line.get_ydata(), [0.6, 0.51, 0.8])
    # The band goes from the lowest to the highest seed.
    band = first.collections[0].get_paths()[0].vertices
    at_half = band[np.isclose(band[:, 0], 0.5), 1]
    np.testing.assert_allclose([at_half.min(), at_half.max()], [0.5, 0.52])
    self.assertEmpty(second.lines)
    self.assertEqual(first.get_title(loc='left'), 'beta 1')
    (legend,) = figure.legends
    self.assertEqual(
      [t.get_text() for t in legend.get_texts()], ['FedAvg', 'largest']
    )

  @parameterized.parameters(([0.9, 0.8],), (None,))
  def test_no_level_of_all_where_lines_end_elsewhere(self, end):
    other = _line(0.3)
    del other[1.0]
    if end:
      other[1.0] = end
    figure = _plot(
      {'': {'': {'fed avg': _line(0.5), 'fed fish': other}}},
      metric='accuracy',
      title='',
      reference='All is sent',
    )
    labels = [line.get_label() for line in figure.axes[0].lines]
    self.assertEqual(labels, ['fed avg', 'fed fish'])

  def test_runs_that_have_diverged_are_left_out(self):
    figure = _plot(
      {'': {'': {'a': {0.1: [math.nan], 0.5: [math.nan, 0.4]}}}},
      metric='accuracy',
      title='',
      reference='FedAvg',
    )
    (line,) = figure.axes[0].lines
    np.testing.assert_allclose(line.get_xydata(), [[0.5, 0.4]])

  @parameterized.parameters(
    (1, 1, 1, 1), (1, 3, 1, 3), (1, 5, 2, 3), (2, 4, 2, 4), (3, 1, 3, 1)
  )
  def test_panels_fit_and_texts_do_not_overlap(
    self, num_rows, num_panels, grid_rows, grid_columns
  ):
    panels = {
      f'beta 0.{i}': {'largest drift': _line(0.5), 'smallest drift': _line(0.3)}
      for i in range(num_panels)
    }
    rows = {f'{i}. row of lines': panels for i in range(num_rows)}
    if num_rows == 1:
      rows = {'': panels}
    figure = _plot(
      rows, metric='accuracy', title='Accuracy of some rather long title'
    )
    shape = figure.axes[0].get_subplotspec().get_gridspec().get_geometry()
    self.assertEqual(shape, (grid_rows, grid_columns))
    self.assertLen(figure.axes, num_rows * num_panels)
    figure.draw_without_rendering()
    boxes = []
    for axis in figure.axes:
      for text in (axis.xaxis.label, axis._left_title):
        boxes.append(text.get_window_extent())
    for i, one in enumerate(boxes):
      for other in boxes[i + 1 :]:
        self.assertFalse(one.overlaps(other))

  def test_bytes_are_means_over_seeds(self):
    figure = _plot(
      {
        '': {
          '': {'largest': {0.1: [(1e6, 0.4), (3e6, 0.6)], 1.0: [(2e7, 0.9)]}}
        }
      },
      in_bytes=True,
      metric='accuracy',
      title='Accuracy',
    )
    (axis,) = figure.axes
    np.testing.assert_allclose(
      axis.lines[0].get_xydata(), [[2e6, 0.5], [2e7, 0.9]]
    )
    self.assertEqual(axis.xaxis.get_major_formatter()(2e6), '2 MB')
