# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the grid of panels and of what panels share."""

from launch.plots import panels
from launch.plots import style
from launch.results import settings
from tests.launch import drawn_figures
from tests.launch.results import fake_runs

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

_LOOK = style.series_looks(['a'])['a']


def _new_axis():
  return panels.new_grid(['a'], (3, 2))[1][0]


class NewGridTest(parameterized.TestCase):
  @parameterized.parameters(
    (1, 3, panels.PAPER_COLUMN, 2.0),
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

  @parameterized.parameters('column', 'page')
  def test_a_given_width_is_kept_by_all(self, name):
    width = panels.WIDTHS[name]
    with style.figures_of_width(width):
      for count in range(1, 9):
        figure, axes = panels.new_grid(range(count), (3.3, 2.6), columns=8)
        self.assertLen(axes, count)
        self.assertEqual(figure.get_figwidth(), width)
        self.assertGreater(panels.cell_width(axes[0]), 1.5)
    figure, _ = panels.new_grid(['a'], (7, 4.2))
    self.assertEqual(figure.get_figwidth(), 7)

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
    drawn_figures.check_fits(self, figure)
    (legend,) = figure.legends
    self.assertEqual([text.get_text() for text in legend.get_texts()], names)

  def test_a_note_fits_with_entries_and_without(self):
    note = 'What one has to know of these runs in reading the figure. ' * 3
    for entries in ([], [panels.entry('a', **_LOOK)]):
      figure, (axis,) = panels.new_grid(['a'], (3, 2))
      panels.draw_legend(figure, entries, note=note)
      figure.draw_without_rendering()
      (legend,) = figure.legends
      told = legend.get_title()
      self.assertEqual(told.get_text().split(), note.split())
      box = told.get_window_extent()
      self.assertGreaterEqual(box.x0, 0)
      self.assertLessEqual(box.x1, figure.bbox.width)
      self.assertFalse(box.overlaps(axis.get_tightbbox()))


class StripTest(absltest.TestCase):
  @style.styled
  def test_title_and_note_become_a_caption_and_panels_keep_their_size(self):
    figures = [panels.new_grid(['a'], (3, 2)) for _ in range(2)]
    for (figure, _), note in zip(figures, ('', '1 seed.')):
      panels.draw_legend(figure, [panels.entry('a', **_LOOK)], note=note)
    full = figures[1][0]
    panels.set_figure_title(full, 'A long title of a figure (digits) ' * 3)
    caption = panels.strip(full)
    self.assertEqual(
      caption, ' '.join(['A long title of a figure (digits)'] * 3) + '. 1 seed.'
    )
    heights = []
    for figure, (axis,) in figures:
      figure.draw_without_rendering()
      heights.append(axis.get_window_extent().height)
    np.testing.assert_allclose(*heights, rtol=0.1)
    self.assertEqual(
      [text.get_text() for text in full.legends[0].get_texts()], ['a']
    )


class LimitSharesTest(parameterized.TestCase):
  @parameterized.parameters(
    ('eval/global/accuracy', 1.0, 1.0),
    ('eval/global/accuracy', 100.0, None),
    ('eval/global/loss', 1.0, None),
  )
  def test_the_range_of_shares_ends_at_one(self, metric, largest, expected):
    axis = _new_axis()
    axis.plot([0, 1], [0, largest])
    before = axis.get_ylim()
    panels.limit_shares([axis], metric)
    ends = before if expected is None else (0.0, expected)
    self.assertEqual(axis.get_ylim(), ends)


class DrawLinesTest(absltest.TestCase):
  def test_the_range_of_seeds_is_shaded_and_that_of_one_is_not(self):
    axis = _new_axis()
    xs, ys = np.array([0.0, 1.0]), np.array([[1.0, 5.0], [3.0, 4.0]])
    panels.draw_lines(axis, {'a': (xs, ys[:1])}, {'a': _LOOK})
    self.assertEmpty(axis.collections)
    panels.draw_lines(axis, {'a': (xs, ys)}, {'a': _LOOK})
    np.testing.assert_allclose(axis.lines[1].get_ydata(), [2, 4.5])
    corners = axis.collections[0].get_paths()[0].vertices
    self.assertEqual(set(map(tuple, corners)), {(0, 1), (0, 3), (1, 4), (1, 5)})

  def test_each_point_has_a_marker_that_fits(self):
    axis = _new_axis()
    sizes = []
    for count in (3, 100):
      xs = np.arange(float(count))
      panels.draw_lines(axis, {'a': (xs, xs[None])}, {'a': _LOOK})
      line = axis.lines[-1]
      self.assertIsNone(line.get_markevery())
      self.assertEqual(line.get_marker(), _LOOK['marker'])
      sizes.append(line.get_markersize())
    self.assertGreater(*sizes)
    self.assertLess(sizes[1] * 100, 72 * 3)

  def test_a_line_is_seen_through_the_gaps_of_another(self):
    axis = _new_axis()
    line = np.arange(4.0), np.array([[0.1, 0.5, 0.9, 1.0]])
    looks = {'dashed': _LOOK | {'linestyle': '--'}, 'solid': _LOOK}
    panels.draw_lines(axis, dict.fromkeys(looks, line), looks)
    dashed, solid = axis.lines
    self.assertLess(solid.get_zorder(), dashed.get_zorder())


class WriteAboveTest(absltest.TestCase):
  @style.styled
  def test_values_are_outside_of_the_panel_and_below_its_title(self):
    figure, (axis,) = panels.new_grid(['a'], (3, 2))
    axis.plot([0, 1], [0, 1])
    axis.set_title('A title')
    panels.write_above(axis, {0.0: '0.500', 1.0: '0.900'})
    figure.draw_without_rendering()
    title = axis._left_title.get_window_extent()  # pylint: disable=protected-access
    panel = axis.get_window_extent()
    for text in axis.texts:
      box = text.get_window_extent()
      self.assertGreaterEqual(box.y0, panel.y1)
      self.assertFalse(box.overlaps(title))


class CompareAxesTest(absltest.TestCase):
  @style.styled
  def test_each_axis_is_fitted_at_one_scale(self):
    figure, (axis,) = panels.new_grid(['a'], (3, 3))
    x, y = np.array([1.0, np.nan, 3.0]), np.array([10.0, 14.0])
    panels.compare_axes(axis, x, y)
    figure.draw_without_rendering()
    limits = axis.get_xlim(), axis.get_ylim()
    for (low, high), values in zip(limits, ([1, 3], [10, 14])):
      self.assertLess(low, min(values))
      self.assertGreater(high, max(values))
    self.assertLess(limits[0][1], 10)
    box = axis.get_window_extent()
    scales = np.ptp(limits, axis=1) / (box.width, box.height)
    np.testing.assert_allclose(*scales, rtol=1e-6)
    self.assertEqual(axis.lines[0].get_slope(), 1)

  def test_limits_of_one_value_and_of_none(self):
    for values in ([0.0], [2.0], []):
      axis = _new_axis()
      panels.compare_axes(axis, np.array(values), np.array(values))
      self.assertLess(*axis.get_xlim())


def _settings(epochs):
  specs = [(number, 6) for number in epochs]
  found = fake_runs.read_settings(fake_runs.make_setting_runs(specs))
  return settings.describe(found)


def _labels(groups):
  return [[entry.get_label() for entry in group] for group in groups]


class SeriesLooksTest(absltest.TestCase):
  def test_the_most_epochs_have_the_solid_line(self):
    looks, groups = panels.series_looks(_settings([16, 1, 8]))
    self.assertEqual(looks['FedFish, 16 local epochs']['linestyle'], '-')
    self.assertLen({str(of['linestyle']) for of in looks.values()}, 3)
    self.assertLen({of['color'] for of in looks.values()}, 2)
    self.assertEqual(
      _labels(groups),
      [
        ['FedAvg', 'FedFish'],
        ['1 local epoch', '8 local epochs', '16 local epochs'],
      ],
    )

  def test_lines_of_methods_differ_where_epochs_do_not(self):
    for epochs, by_epochs in (([4], True), ([1, 4], False)):
      looks, groups = panels.series_looks(
        _settings(epochs), by_epochs=by_epochs
      )
      self.assertLen({str(of['linestyle']) for of in looks.values()}, 2)
      self.assertEqual(_labels(groups), [['FedAvg', 'FedFish']])

  def test_markers_differ(self):
    self.assertLen(set(panels.epoch_markers(range(1, 9)).values()), 8)
