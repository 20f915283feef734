# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for devices."""

import subprocess
import sys

from tests import processes

from absl.testing import absltest
import pytest


class DevicesTest(absltest.TestCase):
  def _run_tests(self, *names):
    run = subprocess.run(
      [sys.executable, '-m', 'tests.execution.three_devices', *names],
      capture_output=True,
      text=True,
      check=False,
      timeout=processes.HANG_SECONDS,
    )
    self.assertEqual(run.returncode, 0, run.stderr)
    self.assertRegex(run.stderr, r'Ran \d+ tests in (?s:.*)OK')

  def test_with_three_devices(self):
    self._run_tests('ResolveDevicesTest', 'PlacementTest')

  @pytest.mark.thorough
  def test_rounds_on_three_devices(self):
    self._run_tests('CohortOnDevicesTest', 'XlaTest')
