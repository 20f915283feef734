# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The binary that compares the cohort context with TFF's own runtime."""

from tests.launch import binary_runner

from absl.testing import absltest
import pytest

pytestmark = pytest.mark.slow


class ProgramsTest(absltest.TestCase):
  def test_table(self):
    outcome = binary_runner.run_here(
      'benchmarks.programs',
      *('--programs=range', '--repeats=1'),
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    self.assertRegex(
      outcome.stdout, r'\n\| range +(\| +\d+ \| +\d+ \| +\d+\.\d\d ){2}\|\n'
    )

  def test_no_such_program(self):
    outcome = binary_runner.run_here(
      'benchmarks.programs', '--programs=nothing'
    )
    self.assertEqual(outcome.code, 2)
    self.assertIn("got 'nothing'", outcome.stderr)
