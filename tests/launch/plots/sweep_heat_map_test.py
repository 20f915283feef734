# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of heat maps of learning rates."""

import math

from launch.plots import sweep_heat_map

from absl.testing import parameterized
import numpy as np
import pandas as pd


class HeatMapTest(parameterized.TestCase):
  @parameterized.parameters((True, '0.900'), (False, '0.100'))
  def test_draws(self, higher_is_better, best):
    values = {
      ('fed_avg', 0.1, 1.0): 0.1,
      ('fed_avg', 0.1, 0.5): 0.9,
      ('fed_avg', 0.01, 1.0): math.nan,
      ('fed_fish', 0.01, 0.5): 0.5,
    }
    figure = sweep_heat_map.plot_heat_map(
      pd.Series(values),
      metric='accuracy',
      higher_is_better=higher_is_better,
      title='Validation clients',
    )
    first, second = figure.axes[:2]
    self.assertEqual(first.get_title(loc='left'), 'fed_avg')
    # Rows are client rates, columns server rates, both rising.
    table = np.ma.filled(first.images[0].get_array(), np.nan)
    np.testing.assert_array_equal(table, [[np.nan, np.nan], [0.9, 0.1]])
    self.assertEqual(
      [t.get_text() for t in second.get_xticklabels()], ['0.5', '1']
    )
    places = {t.get_text(): t.get_position() for t in first.texts}
    self.assertSameElements(places, ['0.900', '0.100'])
    (frame,) = first.patches
    np.testing.assert_allclose(frame.get_center(), places[best])
    figure.draw_without_rendering()

  def test_nothing_finite(self):
    figure = sweep_heat_map.plot_heat_map(
      pd.Series({('fed_avg', 0.1, 1.0): math.nan}),
      metric='loss',
      higher_is_better=False,
      title='Nothing',
    )
    figure.draw_without_rendering()
    self.assertEmpty(figure.axes[0].texts)
