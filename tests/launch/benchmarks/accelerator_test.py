# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The benchmark of accelerators prints a table, or writes a folder."""

from tests.execution.pjrt import accelerator
from tests.launch import binary_runner

import pytest


def _run(*arguments):
  return binary_runner.run_here('launch.benchmarks.accelerator', *arguments)


class AcceleratorTest(accelerator.TestCase):
  @pytest.mark.thorough
  def test_table(self):
    outcome = _run(
      '--workloads=softmax',
      '--clients=3',
      '--vectorized_clients=2',
      '--repeats=1',
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    self.assertRegex(outcome.stdout, r'\nsoftmax( +\d+\.\d+){10}\n')
    self.assertIn('3 clients of 100 examples by 10', outcome.stdout)

  def test_bad_input(self):
    folder = self.create_tempdir().full_path
    outcome = _run(f'--export_dir={folder}')
    self.assertEqual((outcome.code, outcome.stdout), (2, ''))
    self.assertIn('there already', outcome.stderr)
