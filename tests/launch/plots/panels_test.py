# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the grid of panels and of what panels share."""

from launch.plots import panels
from launch.plots import style

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

_LOOK = style.series_looks(['a'])['a']


def _new_axis():
  return panels.new_grid(['a'], (3, 2))[1][0]


class NewGridTest(parameterized.TestCase):
  @parameterized.parameters(
    (1, 3, panels.PAPER_COLUMN, 2.0),
    (3, 3, 6.75, 2.0),
    (4, 3, 6.75, 4.0),
    (6, 2, 2 * panels.PAPER_COLUMN, 6.0),
  )
  def test_one_panel_fills_a_column_and_several_a_page(
    self, count, columns, width, height
  ):
    figure, axes = panels.new_grid(
      range(count),
      (panels.PAPER_COLUMN, 2.0),
      columns=columns,
    )
    self.assertLen(axes, count)
    self.assertEqual(tuple(figure.get_size_inches()), (width, height))

  def test_gaps_are_left(self):
    figure, axes = panels.new_grid(['a', None, 'b', 'c'], (3, 2), columns=2)
    self.assertEqual(figure.axes, axes)
    places = [axis.get_subplotspec() for axis in axes]
    self.assertEqual(
      [(p.rowspan.start, p.colspan.start) for p in places],
      [(0, 0), (1, 0), (1, 1)],
    )


class DrawLegendTest(absltest.TestCase):
  def test_it_fits_and_the_panels_keep_their_height(self):
    figure, _ = panels.new_grid(['a'], (3, 2))
    names = [f'a rather long name {i}' for i in range(5)]
    panels.draw_legend(
      figure,
      [panels.entry(name, **_LOOK) for name in names],
      [panels.entry('other', **_LOOK)],
    )
    (legend,) = figure.legends
    figure.draw_without_rendering()
    box = legend.get_window_extent()
    self.assertLessEqual(box.width, figure.bbox.width)
    self.assertGreater(figure.bbox.height, 200 + 0.99 * box.height)
    # No column holds entries of both groups.
    lefts = {
      text.get_text(): text.get_window_extent().x0
      for text in legend.get_texts()
    }
    self.assertLess(max(lefts[name] for name in names), lefts['other'])

  def test_without_entries_there_is_none(self):
    figure, _ = panels.new_grid(['a'], (3, 2))
    panels.draw_legend(figure, [])
    self.assertEmpty(figure.legends)

  def test_groups_stand_below_one_another_where_it_is_narrow(self):
    figure, _ = panels.new_grid(['a'], (panels.PAPER_COLUMN, 2))
    names = ['a name of a method', 'another one', 'how clients are chosen']
    first, *rest = [panels.entry(name, **_LOOK) for name in names]
    panels.draw_legend(figure, [first], rest)
    (legend,) = figure.legends
    figure.draw_without_rendering()
    self.assertLessEqual(legend.get_window_extent().width, figure.bbox.width)
    self.assertEqual([text.get_text() for text in legend.get_texts()], names)


class DrawLinesTest(absltest.TestCase):
  def test_the_range_of_seeds_is_shaded_and_that_of_one_is_not(self):
    axis = _new_axis()
    xs, ys = np.array([0.0, 1.0]), np.array([[1.0, 5.0], [3.0, 4.0]])
    panels.draw_lines(axis, {'a': (xs, ys[:1])}, {'a': _LOOK})
    self.assertEmpty(axis.collections)
    panels.draw_lines(axis, {'a': (xs, ys)}, {'a': _LOOK})
    np.testing.assert_allclose(axis.lines[1].get_ydata(), [2, 4.5])
    corners = axis.collections[0].get_paths()[0].vertices
    self.assertEqual(
      {tuple(corner) for corner in corners},
      {(0.0, 1.0), (0.0, 3.0), (1.0, 4.0), (1.0, 5.0)},
    )


class CompareAxesTest(absltest.TestCase):
  def test_limits_hold_all_finite_values(self):
    axis = _new_axis()
    panels.compare_axes(axis, [np.array([1.0, np.nan]), [3.0]])
    low, high = axis.get_xlim()
    self.assertLess(low, 1)
    self.assertGreater(high, 3)
    self.assertEqual(axis.get_xlim(), axis.get_ylim())
    diagonal = axis.lines[0].get_xydata()
    np.testing.assert_array_equal(diagonal[:, 0], diagonal[:, 1])

  def test_limits_of_one_value_and_of_none(self):
    for values in ([0.0], [2.0], []):
      axis = _new_axis()
      panels.compare_axes(axis, [np.array(values)])
      self.assertLess(*axis.get_xlim())

  def test_halves_are_labelled_in_opposite_corners(self):
    axis = _new_axis()
    panels.compare_axes(axis, [[0, 1]], above='higher', below='lower')
    above, below = axis.texts
    self.assertEqual((above.get_text(), below.get_text()), ('higher', 'lower'))
    self.assertLess(above.get_position()[0], below.get_position()[0])
    self.assertGreater(above.get_position()[1], below.get_position()[1])


if __name__ == '__main__':
  absltest.main()
