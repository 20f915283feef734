# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the plots' style."""

import pathlib

from fedfish_tff import errors
from launch.plots import style

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies
import numpy as np


@style.styled
def _figure():
  figure = style.new_figure(3, 2)
  figure.subplots().plot([0, 1], [0, 1])
  return figure


class SeriesStylesTest(absltest.TestCase):
  def test_a_method_looks_the_same_in_every_plot(self):
    alone = style.series_styles(['FedFish'])
    among = style.series_styles(['Other', 'FedAvg', 'FedFish, digits'])
    self.assertEqual(alone['FedFish'], among['FedFish, digits'])

  def test_eight_methods_differ_in_colour_and_in_line_or_marker(self):
    looks = style.series_styles(['FedFish', *'abcdefg']).values()
    self.assertLen({look.color for look in looks}, 8)
    self.assertLen({look.marker for look in looks}, 8)
    self.assertLen({(look.linestyle, look.marker) for look in looks}, 8)

  def test_more_methods_than_styles(self):
    labels = [str(i) for i in range(20)]
    self.assertEqual(list(style.series_styles(labels)), labels)

  def test_two_variants_of_one_method_differ(self):
    looks = style.series_styles(['FedFish, damping 0', 'FedFish, damping 1'])
    self.assertLen(set(looks.values()), 2)

  def test_the_name_alone_goes_before_variants(self):
    looks = style.series_styles(['FedFish, damping 1', 'FedFish'])
    self.assertEqual(
      looks['FedFish'], style.series_styles(['FedFish'])['FedFish']
    )


class DescribeMetricTest(parameterized.TestCase):
  @parameterized.parameters(
    ('eval/global/mse', 'MSE, global model on held-out clients'),
    ('csb/accuracy', 'Barrier in accuracy, clients against the server'),
    ('other/column', 'other/column'),
  )
  def test_what_a_column_is_of(self, metric, expected):
    self.assertEqual(style.describe_metric(metric), expected)


class SaveFigureTest(parameterized.TestCase):
  @parameterized.parameters(
    ('png', b'\x89PNG'), ('pdf', b'%PDF'), ('svg', b'<?xml')
  )
  def test_formats_repeat_byte_for_byte(self, suffix, magic):
    folder = pathlib.Path(self.create_tempdir().full_path)
    for name in ('a', 'b'):
      style.save_figure(_figure(), folder / f'{name}.{suffix}')
    content = (folder / f'a.{suffix}').read_bytes()
    self.assertStartsWith(content, magic)
    self.assertEqual(content, (folder / f'b.{suffix}').read_bytes())
    self.assertLen(list(folder.iterdir()), 2)

  def test_an_unwritable_path_is_named(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    with self.assertRaisesRegex(errors.InputError, 'missing/a.png'):
      style.save_figure(_figure(), folder / 'missing' / 'a.png')


class LabelsTest(parameterized.TestCase):
  @parameterized.parameters(
    ('eval/global/accuracy', 'Accuracy'),
    ('csb/mse', 'Barrier in MSE'),
    ('accuracy', 'Accuracy'),
    ('train/num_examples', 'Num examples'),
  )
  def test_metric_title(self, metric, title):
    self.assertEqual(style.metric_title(metric), title)

  @parameterized.parameters(
    (12, 'bytes'), (5e4, 'kB'), (3e6, 'MB'), (2e9, 'GB')
  )
  def test_byte_unit(self, largest, unit):
    divisor, name = style.byte_unit(largest)
    self.assertEqual(name, unit)
    self.assertBetween(largest / divisor, 1, 1000)

  @parameterized.parameters(
    (0.87, '0.870'), (0, '0.000'), (1e-4, '0.0001'), (12345.0, '1.23e+04')
  )
  def test_format_value(self, value, text):
    self.assertEqual(style.format_value(value), text)

  def test_spread_apart_moves_nothing_that_has_room(self):
    np.testing.assert_allclose(style.spread_apart([0, 1, 3], 0.9), [0, 1, 3])

  def test_spread_apart_keeps_the_middle(self):
    np.testing.assert_allclose(style.spread_apart([5, 5, 5], 1), [4, 5, 6])

  @hypothesis.given(
    strategies.lists(strategies.floats(-100, 100), min_size=1, max_size=8)
  )
  def test_spread_apart_keeps_order_mean_and_gap(self, positions):
    positions = sorted(positions)
    moved = style.spread_apart(positions, 1.5)
    self.assertAlmostEqual(np.mean(moved), np.mean(positions), places=6)
    self.assertTrue((np.diff(moved) >= 1.5 - 1e-9).all())


class AxesTest(absltest.TestCase):
  def test_shared_limits_hold_all_finite_values(self):
    axis = _figure().axes[0]
    low, high = style.share_limits(axis, [np.array([1.0, np.nan]), [3.0]])
    self.assertLess(low, 1)
    self.assertGreater(high, 3)
    self.assertEqual(axis.get_xlim(), axis.get_ylim())

  def test_shared_limits_of_one_value_and_of_none(self):
    for values in ([0.0], [2.0], []):
      low, high = style.share_limits(_figure().axes[0], [np.array(values)])
      self.assertLess(low, high)

  def test_halves_are_labelled_in_opposite_corners(self):
    axis = _figure().axes[0]
    style.label_halves(axis, 'higher', 'lower', width=2, size=7)
    above, below = axis.texts
    self.assertEqual((above.get_text(), below.get_text()), ('higher', 'lower'))
    self.assertLess(above.get_position()[0], below.get_position()[0])
    self.assertGreater(above.get_position()[1], below.get_position()[1])

  def test_the_range_of_seeds_is_shaded_and_that_of_one_is_not(self):
    axis = _figure().axes[0]
    xs, ys = np.array([0.0, 1.0]), np.array([[1.0, 5.0], [3.0, 4.0]])
    style.shade_range(axis, xs, ys[:1], '#000000', alpha=0.1)
    self.assertEmpty(axis.collections)
    style.shade_range(axis, xs, ys, '#000000', alpha=0.1)
    corners = axis.collections[0].get_paths()[0].vertices
    self.assertEqual(
      {tuple(corner) for corner in corners},
      {(0.0, 1.0), (0.0, 3.0), (1.0, 4.0), (1.0, 5.0)},
    )


if __name__ == '__main__':
  absltest.main()
