# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The binary that measures what a cohort costs among many clients."""

from tests.launch import binary_runner

from absl.testing import absltest
import pytest


class ClientIndexTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._runner = binary_runner.BinaryRunner(
      'launch.benchmarks.client_index', 'launch.benchmarks.generated_text'
    )
    cls.addClassCleanup(cls._runner.close)

  @pytest.mark.slow
  def test_table(self):
    outcome = self._runner.run(
      '--clients=1200', '--cohort_size=4', '--cohorts=3', '--window=16'
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    header, *rows = outcome.stdout.splitlines()
    self.assertEqual(header.split(), ['clients', '1,200'])
    titles = [row[:30].split(',')[0] for row in rows[:9]]
    self.assertLen(set(titles), 9)
    for row in rows[:9]:
      self.assertRegex(row, r' \d+\.\d+$')

  def test_bad_input(self):
    for arguments in (('--clients=0',), ('more',)):
      outcome = self._runner.run(*arguments)
      self.assertEqual(outcome.code, 2, outcome.stderr)
      self.assertIn(arguments[0], outcome.stderr.splitlines()[-1])
