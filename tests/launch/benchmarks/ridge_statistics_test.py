# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The binary that compares ridge statistics with a matrix product."""

from tests.launch import binary_runner

from absl.testing import absltest


class RidgeStatisticsTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._runner = binary_runner.BinaryRunner(
      'launch.benchmarks.ridge_statistics',
      'launch.benchmarks.round_time',
      'fedfish_tff.execution.contexts',
    )
    cls.addClassCleanup(cls._runner.close)

  def test_table(self):
    outcome = self._runner.run(
      '--features=8',
      '--features=1200',
      '--examples=50',
      '--batch_size=16',
      '--batch_size=64',
      '--repeats=1',
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    header, *rows = outcome.stdout.splitlines()[:5]
    self.assertEqual(header.split()[-1], 'ratio')
    self.assertEqual(
      [row.split()[:2] for row in rows],
      [['8', '16'], ['8', '64'], ['1,200', '16'], ['1,200', '64']],
    )
    for row in rows:
      self.assertRegex(row, r'( +\d[\d,]*\.\d\d){3}$')

  def test_bad_input(self):
    for argument in ('--examples=0', 'more'):
      outcome = self._runner.run(argument)
      self.assertEqual(outcome.code, 2, outcome.stderr)
      self.assertIn(argument, outcome.stderr.splitlines()[-1])
