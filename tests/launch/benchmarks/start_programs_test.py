# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The programs run, and their CPU seconds are those of the child."""

import pathlib

from fedfish_tff import errors
from launch.benchmarks import start_programs

from absl.testing import absltest
import pytest

_ROOT = pathlib.Path(__file__).resolve().parents[3]
_BUSY = """
import time
while time.process_time() < 0.5:
  pass
"""


class CpuSecondsTest(absltest.TestCase):
  def test_counts_what_the_child_computes(self):
    # The system counts in ticks, so a little less may be told.
    self.assertGreater(start_programs.cpu_seconds(['-c', _BUSY], _ROOT), 0.4)

  def test_imports_from_the_folder(self):
    folder = self.create_tempdir()
    folder.create_file('only_here.py')
    start_programs.cpu_seconds(['-c', 'import only_here'], folder.full_path)

  def test_a_failure_is_told(self):
    with self.assertRaisesRegex(errors.InputError, 'no such thing'):
      start_programs.cpu_seconds(
        ['-c', 'raise ValueError("no such thing")'], _ROOT
      )


@pytest.mark.thorough
class ProgramsTest(absltest.TestCase):
  def test_all_run_to_the_end(self):
    scratch = self.create_tempdir().full_path
    programs = start_programs.programs(scratch, rounds=1)
    for title, rows in programs.items():
      # TFF's runtime runs the same programs.
      with self.subTest(title=title):
        start_programs.cpu_seconds(next(iter(rows.values())), _ROOT)
    self.assertTrue(pathlib.Path(scratch, 'digits', 'summary.json').exists())
