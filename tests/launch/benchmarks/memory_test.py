# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The memory benchmark's binary."""

import pathlib

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

  def test_processes_leave_what_they_do_on_tffs_runtime(self):
    plot = pathlib.Path(self.create_tempdir().full_path, 'memory.png')
    outcome = binary_runner.run_here(
      'launch.benchmarks.memory', '--processes=20', f'--plot={plot}'
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    here, there, path = outcome.stdout.splitlines()
    self.assertRegex(here, r'^cohort .* [+-]\d+\.\d\d MB each$')
    self.assertRegex(there, r'^local_worker .* [+-]\d+\.\d\d MB each$')
    self.assertEqual(path, str(plot))
    self.assertTrue(plot.exists())
