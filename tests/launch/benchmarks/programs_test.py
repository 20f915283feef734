# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The binary that compares the cohort context with TFF's own runtime."""

import pathlib

from tests.launch import binary_runner

from absl.testing import absltest
import pytest

pytestmark = pytest.mark.slow


class ProgramsTest(absltest.TestCase):
  def test_table(self):
    path = pathlib.Path(self.create_tempdir().full_path, 'table.md')
    outcome = binary_runner.run_here(
      'launch.benchmarks.programs',
      *('--programs=range', '--repeats=1', '--calls=1', f'--markdown={path}'),
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    self.assertRegex(outcome.stdout, r'\nrange( +\d+ +\d+ +\d+\.\d\d){2}\n')
    self.assertIn('| range |', path.read_text())
    self.assertIn('--programs=range --repeats=1', path.read_text())

  def test_no_such_program(self):
    outcome = binary_runner.run_here(
      'launch.benchmarks.programs', '--programs=nothing'
    )
    self.assertEqual(outcome.code, 2)
    self.assertIn("got 'nothing'", outcome.stderr)
