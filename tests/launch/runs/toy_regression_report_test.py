# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The toy figure's table, CSV and files, from results made for the test."""

import csv
import io
import pathlib

from launch.plots import regression
from launch.runs import toy_regression_report
from launch.runs import toy_regression_study

from absl.testing import absltest
import numpy as np


def _result(title, seed, fed_avg, per_example):
  grid = np.linspace(-2, 2, 11)
  rng = np.random.default_rng(seed)
  names = ('FedAvg', 'FedFish, per example')
  return toy_regression_study.ToyResult(
    regression.RegressionPanel(
      title=title,
      grid=grid,
      truth=np.sin(3 * grid),
      client_x=[rng.uniform(-2, 2, 20) for _ in range(2)],
      client_y=[rng.uniform(-1, 1, 20) for _ in range(2)],
      local_functions=[np.sin(grid), np.cos(grid)],
      global_functions={name: np.sin(3 * grid) for name in names},
    ),
    barriers=dict(zip(names, (fed_avg, per_example))),
  )


_RESULTS = {
  'full': [_result('full', 0, 0.0, 0.0), _result('full', 1, 0.1, 0.0)],
  'partial': [
    _result('partial', 2, 0.5, 0.25),
    _result('partial', 3, 0.25, 0.5),
  ],
  'none': [_result('none', 4, 1.0, 0.75), _result('none', 5, 2.0, 0.25)],
}


class ToyRegressionReportTest(absltest.TestCase):
  def test_table_has_medians_and_wins(self):
    lines = toy_regression_report.format_table(_RESULTS).splitlines()
    self.assertLen(lines, 7)
    self.assertIn('0.0500', lines[1])
    self.assertTrue(lines[2].endswith('1 of 2 seeds (1 tied)'), lines[2])
    self.assertIn('0.3750', lines[3])
    self.assertTrue(lines[6].endswith('2 of 2 seeds'), lines[6])

  def test_csv_holds_every_barrier(self):
    text = toy_regression_report.to_csv(_RESULTS).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    self.assertLen(rows, 12)
    self.assertEqual(
      rows[-1],
      {
        'overlap': 'none',
        'seed': '1',
        'method': 'FedFish, per example',
        'barrier_mse': '0.25',
      },
    )

  def test_figure_and_csv_are_written(self):
    folder = pathlib.Path(self.create_tempdir().full_path) / 'new'
    paths = toy_regression_report.write_figure(
      _RESULTS, folder, estimator='per_example'
    )
    self.assertEqual(
      [p.name for p in paths], ['toy_regression.png', 'toy_regression.csv']
    )
    self.assertTrue(paths[0].read_bytes().startswith(b'\x89PNG'))
