# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the bars of matched units."""

import dataclasses

from launch.plots import matched_units
from tests.launch.results import fake_runs

from absl.testing import absltest
import numpy as np


def _draw(run):
  return matched_units.draw(fake_runs.named({'a': [run]}), 'loss')


class MatchedUnitsTest(absltest.TestCase):
  def test_units_of_several_clients_and_of_one_by_layer_and_round(self):
    run = fake_runs.make_run()
    self.assertEmpty(_draw(run))
    counts = {'layer_0': ([59, 61], [4, 9]), 'layer_1': ([20, 20], [0, 1])}
    columns = {'round': np.arange(3.0)}
    for layer, (units, alone) in counts.items():
      # The initial model is nobody's.
      columns[f'fed_ma/{layer}/units'] = np.array([np.nan, *units])
      columns[f'fed_ma/{layer}/of_one_client'] = np.array([np.nan, *alone])
    empty = {name: np.isnan(values) for name, values in columns.items()}
    run = dataclasses.replace(run, columns=columns, empty=empty)
    figure = _draw(run)['matched_units']
    for axis, (units, alone) in zip(figure.axes, counts.values(), strict=True):
      several, one = axis.containers
      shared = np.subtract(units, alone)
      for bars, low, high in (
        (several, 0 * shared, shared),
        (one, shared, units),
      ):
        self.assertEqual([bar.get_x() + 0.4 for bar in bars], [1, 2])
        np.testing.assert_array_equal([bar.get_y() for bar in bars], low)
        np.testing.assert_array_equal(
          [bar.get_y() + bar.get_height() for bar in bars], high
        )
