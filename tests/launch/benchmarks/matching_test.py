# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The binary that times the matching of units."""

import pathlib

from tests.launch import binary_runner

from absl.testing import absltest


class MatchingTest(absltest.TestCase):
  def test_table_and_plot(self):
    plot = pathlib.Path(self.create_tempdir().full_path, 'matching.png')
    outcome = binary_runner.run_here(
      'launch.benchmarks.matching',
      *('--units=4', '--units=8', '--clients=2', '--clients=3'),
      *('--fixed_units=5', '--fixed_clients=3', '--inputs=6'),
      f'--plot={plot}',
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    _, *rows = outcome.stdout.splitlines()[:5]
    for row, case in zip(rows, ('4 x 3', '8 x 3', '5 x 2', '5 x 3')):
      self.assertRegex(row, rf'^{case} +\d+\.\d\d( +\d+%){{2}} +\d+$')
    self.assertTrue(plot.exists())
