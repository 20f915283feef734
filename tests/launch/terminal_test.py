# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the output of a process, in processes with every kind of it."""

import pathlib
import subprocess
import sys
import tempfile

from tests import processes
from tests.launch import binary_runner

from absl.testing import parameterized

_PROGRAM = r"""
import sys
import pathlib
from absl import logging
from launch import cli
import tqdm

def main(argv):
  read = sys.stdin.readline()
  print('0.5 \u00b1 0.1 \x1b[31m\u2026', read, end='')
  logging.warning('a warning of \x1b[31m')
  for _ in tqdm.tqdm(range(2), desc='bar'):
    pass
  pathlib.Path(argv[1]).write_text('the work is done')
  print('done')

cli.run(main)
"""


class TerminalTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    folder = pathlib.Path(self.enter_context(tempfile.TemporaryDirectory()))
    self.program, self.work = folder / 'program.py', folder / 'work'
    self.program.write_text(_PROGRAM)

  def _run(self, redirection, **variables):
    outcome = subprocess.run(
      f'echo "gr\u00fcn" | {{ {sys.executable} {self.program} {self.work} '
      f'{redirection}; }}; exit ${{PIPESTATUS[1]}}',
      shell=True,
      executable='/bin/bash',
      capture_output=True,
      env={**binary_runner.environment(), **variables},
      encoding='latin-1',
      timeout=processes.HANG_SECONDS,
    )
    self.assertNotIn('Traceback', outcome.stderr)
    self.assertNotIn('\x1b[31m', outcome.stdout + outcome.stderr)
    return outcome

  @parameterized.parameters(
    ('ascii', r'0.5 \xb1 0.1 \x1b[31m\u2026 gr'),
    ('latin-1', r'0.5 ± 0.1 \x1b[31m\u2026 gr'),
  )
  def test_what_cannot_be_printed_is_escaped(self, encoding, start):
    outcome = self._run('', PYTHONIOENCODING=encoding)
    self.assertStartsWith(outcome.stdout, start)
    self.assertIn(r'a warning of \x1b[31m', outcome.stderr)
    self.assertIn('bar: 100%|####', outcome.stderr)
    self.assertEqual(outcome.returncode, 0)

  @parameterized.parameters('>&-', '2>&-', '<&-', '<&- >&- 2>&-', '2>/dev/full')
  def test_the_work_is_done_without_a_stream(self, redirection):
    outcome = self._run(redirection)
    self.assertEqual(outcome.returncode, 0)
    self.assertEqual(self.work.read_text(), 'the work is done')

  def test_a_reader_of_stderr_that_leaves(self):
    outcome = self._run('2> >(true)')
    self.assertEqual(outcome.returncode, 0)
    self.assertEndsWith(outcome.stdout, 'done\n')

  def test_a_full_disk_is_told(self):
    outcome = self._run('>/dev/full')
    self.assertEqual(outcome.returncode, 2)
    self.assertIn('Cannot read or write: No space left', outcome.stderr)
