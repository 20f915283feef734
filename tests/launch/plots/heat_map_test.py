# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the heat map."""

from launch.plots import heat_map
from launch.plots import panels

from absl.testing import absltest
import numpy as np


class HeatMapTest(absltest.TestCase):
  def test_numbers_can_be_read_on_their_colour(self):
    _, (axis,) = panels.new_grid(['a'], (3, 2))
    image = heat_map.draw_table(axis, np.array([[0.0, np.nan, 1.0]]))
    heat_map.write_cells(image, np.array([['none', 'unknown', 'all']]))
    light, dark = axis.texts
    self.assertEqual((light.get_text(), dark.get_text()), ('none', 'all'))
    self.assertEqual(dark.get_color(), 'white')
    self.assertNotEqual(light.get_color(), 'white')

  def test_long_names_keep_their_ends(self):
    self.assertEqual(heat_map.shorten('abcdef', 6), 'abcdef')
    self.assertEqual(heat_map.shorten('abcdefg', 6), 'ab…efg')

  def test_names_stay_apart(self):
    _, (axis,) = panels.new_grid(['a'], (3, 2))
    names = [f'roberta/layer_{i}/query/kernel' for i in range(2)]
    heat_map.name_ticks(axis.yaxis, names, most_letters=24)
    self.assertEqual(
      [label.get_text() for label in axis.get_yticklabels()],
      [f'…ta/layer_{i}/query/kernel' for i in range(2)],
    )

  def test_names_that_would_touch_are_upright(self):
    for letters, rotation in ((1, 0), (20, 90)):
      _, (axis,) = panels.new_grid(['a'], (3, 2))
      heat_map.draw_table(axis, np.eye(4))
      heat_map.name_ticks(axis.xaxis, ['a' * letters] * 4)
      labels = axis.get_xticklabels()
      self.assertEqual({t.get_rotation() for t in labels}, {rotation})
