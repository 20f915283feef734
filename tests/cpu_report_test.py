# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for cpu_report, the plugin of pytest."""

import os
import pathlib
import subprocess
import sys

from tests import processes
from tests import repository

from absl.testing import parameterized

# Every look at this clock is a second later than the one before.
_CONFTEST = """
import itertools

from tests import cpu_report

clock = itertools.count()
cpu_report._cpu_seconds = lambda: next(clock)
cpu_report.calibration_seconds = lambda: 9.5
cpu_report._LIMIT = 1.0
"""
_FILES = {
  'cheap_test.py': 'def test_a(): pass\n',
  'costly_test.py': """
import pytest

def test_a(): pass
def test_b(): pass
@pytest.mark.slow
def test_c(): pass
@pytest.mark.slow
def test_d(): pass
""",
  'thorough_test.py': """
import pytest

pytestmark = pytest.mark.thorough

def test_a(): pass
def test_b(): pass
def test_c(): pass
""",
}


class CpuReportTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('in_one_process', (), 3),
    # Each of the two imports every file.
    ('in_two', ('-p', 'xdist', '-n2', '--dist=loadfile'), 6),
  )
  def test_reports(self, arguments, num_imports):
    folder = pathlib.Path(self.create_tempdir().full_path)
    for name, text in (_FILES | {'conftest.py': _CONFTEST}).items():
      (folder / name).write_text(text)
    (folder / 'pytest.ini').write_text(
      '[pytest]\npython_files = *_test.py\nmarkers =\n  slow\n  thorough\n'
    )
    result = subprocess.run(
      [sys.executable, '-m', 'pytest', '-q', '-p', 'tests.cpu_report']
      + [*arguments, folder],
      env=os.environ
      | {
        'PYTEST_DISABLE_PLUGIN_AUTOLOAD': '1',
        'PYTHONPATH': str(repository.ROOT),
      },
      cwd=folder,
      stdout=subprocess.PIPE,
      stderr=subprocess.STDOUT,
      text=True,
      timeout=processes.HANG_SECONDS,
    )
    self.assertEqual(result.returncode, 0, result.stdout)
    lines = [line.strip() for line in result.stdout.splitlines()]
    for line in (
      '1.0  cheap_test.py',
      '2.0  costly_test.py',
      '2.0  costly_test.py (slow)',
      '3.0  thorough_test.py (thorough)',
      f'{num_imports}.0  imports, in every process',
      '9.5  a loop of plain Python, to compare machines',
    ):
      self.assertIn(line, lines)
    self.assertEqual(
      [line for line in lines if 'too much' in line],
      [
        'costly_test.py cost 2.0 CPU seconds, over 1: too much for the '
        'default tier.'
      ],
    )
    report = folder / '.pytest_cache/d/cpu_seconds/report.txt'
    self.assertIn('1.0  cheap_test.py\n', report.read_text())
