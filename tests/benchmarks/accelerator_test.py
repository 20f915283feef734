# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The benchmark of accelerators prints a table."""

from tests.execution.pjrt import accelerator
from tests.launch import binary_runner

import pytest


class AcceleratorTest(accelerator.TestCase):
  @pytest.mark.thorough
  def test_table(self):
    outcome = binary_runner.run_here(
      'benchmarks.accelerator',
      *('--workloads=softmax', '--clients=3', '--repeats=1'),
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    # Cells of a GPU in this process are empty where there is none.
    self.assertRegex(
      outcome.stdout,
      r'\n\| FedAvg, softmax[^|]*\| +\d+\.\d+ \|'
      r'( +\|){2}( +\d+\.\d+ \|){6} +\|( +\d+\.\d+ \|){2}\n',
    )
    # The name of the processor decides where lines end.
    self.assertRegex(outcome.stdout, r'3\s+clients\s+of\s+100\s+examples')
