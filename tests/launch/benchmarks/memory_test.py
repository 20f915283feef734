# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The memory benchmark's binary."""

from tests.launch import binary_runner

from absl.testing import absltest
import pytest

pytestmark = pytest.mark.slow


class MemoryTest(absltest.TestCase):
  def test_samples_and_growth(self):
    runner = binary_runner.BinaryRunner(
      'launch.benchmarks.memory', 'launch.benchmarks.memory_growth'
    )
    self.addCleanup(runner.close)
    outcome = runner.run('--rounds=40', '--clients=2')
    self.assertEqual(outcome.code, 0, outcome.stderr)
    header, *samples, growth = outcome.stdout.splitlines()
    self.assertIn('round', header)
    self.assertEqual([int(s.split()[0]) for s in samples], [*range(2, 41, 2)])
    self.assertRegex(growth, r'[+-]\d+\.\d MB')
    outcome = runner.run('--data=files')
    self.assertEqual(outcome.code, 2)
    self.assertLen(outcome.stderr.splitlines(), 1)


if __name__ == '__main__':
  absltest.main()
