# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the script that runs tests many times."""

import os
import pathlib
import re
import subprocess
import sys

from tests import processes
from tests import repository

from absl.testing import absltest
import pytest

pytestmark = pytest.mark.thorough

# Passes, then fails, then hangs; `runs` is a file beside it.
_TEST = """
import pathlib, time

def test_now_and_then():
  runs = pathlib.Path(__file__).with_name('runs')
  with runs.open('a') as file:
    file.write('.')
  number = runs.stat().st_size
  assert number != 2, 'the second'
  time.sleep(600 * (number == 3))
"""


class TestFlakyTest(absltest.TestCase):
  def _run(self, *arguments, **variables):
    folder = self.create_tempdir().full_path
    return subprocess.run(
      [sys.executable, repository.ROOT / '.ci' / 'test_flaky.py', *arguments],
      env=os.environ
      | {'PYTEST_DISABLE_PLUGIN_AUTOLOAD': '1', 'TMPDIR': folder}
      | variables,
      stdout=subprocess.PIPE,
      stderr=subprocess.STDOUT,
      text=True,
      timeout=processes.HANG_SECONDS,
    )

  def test_failures_and_hangs_are_told_and_kept(self):
    test = self.create_tempfile('x_test.py', _TEST).full_path
    result = self._run(test, TIMES='3', LIMIT='10')
    self.assertEqual(result.returncode, 1)
    self.assertEndsWith(result.stdout, '2 of 3 runs failed.\n')
    logs = re.findall(r'Run (\d) failed: (.*)', result.stdout)
    self.assertEqual([number for number, _ in logs], ['2', '3'])
    second, third = (pathlib.Path(path).read_text() for _, path in logs)
    self.assertIn('AssertionError: the second', second)
    self.assertIn('in test_now_and_then', third)  # Where it hung.
    self.assertEndsWith(third, 'Not done within 10 seconds.\n')

  def test_asks_for_tests(self):
    self.assertEqual(self._run().returncode, 2)
