# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The benchmark's binary prints a table beside its yardstick."""

from launch.benchmarks import workloads
from tests.launch import binary_runner

from absl.testing import absltest


class RunTest(absltest.TestCase):
  def test_table_and_bad_input(self):
    runner = binary_runner.BinaryRunner(
      'launch.benchmarks.run', 'launch.benchmarks.round_time'
    )
    self.addCleanup(runner.close)
    outcome = runner.run('--workloads=softmax', '--clients=2', '--repeats=1')
    self.assertEqual(outcome.code, 0, outcome.stderr)
    rows = [line for line in outcome.stdout.splitlines() if line][2:]
    self.assertLen(rows, 3)
    self.assertEqual(rows[0].split()[-1], '1.0')
    for arguments in (('--workloads=mnist',), ('--context=cloud',)):
      outcome = runner.run(*arguments)
      self.assertEqual(outcome.code, 2)
      self.assertLen(outcome.stderr.splitlines(), 1)

  def test_every_workload_can_be_asked_for(self):
    self.assertCountEqual(workloads.WORKLOADS, ('softmax', 'cnn'))


if __name__ == '__main__':
  absltest.main()
