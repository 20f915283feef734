# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the plot of the spread over clients."""

import dataclasses

from launch.plots import client_spread
from launch.plots import request
from tests.launch.results import fake_runs

from absl.testing import absltest
import numpy as np


class PlotClientSpreadTest(absltest.TestCase):
  def test_clients_are_sorted_from_the_worst(self):
    values = [3.0, 1.0, np.nan, 2.0, 4.0]
    for name, expected in (('accuracy', [1, 2, 3, 4]), ('loss', [4, 3, 2, 1])):
      clients = {str(i): {f'global/{name}': v} for i, v in enumerate(values)}
      run = dataclasses.replace(fake_runs.make_run(), clients=clients)
      groups = {'FedAvg': [run], 'FedFish': [fake_runs.make_run()]}
      (figure,) = client_spread.draw(request.Request(groups, name)).values()
      (line,) = figure.axes[0].lines
      np.testing.assert_array_equal(line.get_ydata(), expected)
      np.testing.assert_allclose(line.get_xdata(), [0.125, 0.375, 0.625, 0.875])
      self.assertIn(f'worst tenth {expected[0]}.000', line.get_label())


if __name__ == '__main__':
  absltest.main()
