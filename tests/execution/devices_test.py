# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for devices."""

import subprocess
import sys

from absl.testing import absltest


class DevicesTest(absltest.TestCase):
  def test_with_three_devices(self):
    run = subprocess.run(
      [sys.executable, '-m', 'tests.execution.three_devices'],
      capture_output=True,
      text=True,
      check=False,
    )
    self.assertEqual(run.returncode, 0, run.stderr)
    self.assertRegex(run.stderr, r'Ran \d+ tests in (?s:.*)OK')


if __name__ == '__main__':
  absltest.main()
