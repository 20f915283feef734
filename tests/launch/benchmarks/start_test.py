# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Programs take turns, and a table tells their CPU seconds."""

import pathlib
from unittest import mock

from launch.benchmarks import start_programs
from tests.launch import binary_runner

from absl.testing import absltest


class StartTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._ran = []
    # Every program takes as many seconds as programs have run.
    self.enter_context(
      mock.patch.object(
        start_programs, 'cpu_seconds', autospec=True, side_effect=self._run
      )
    )

  def _run(self, command, folder):
    self._ran.append((tuple(command), pathlib.Path(folder)))
    return float(len(self._ran))

  def test_tells_medians_and_ratios(self):
    outcome = binary_runner.run_here('launch.benchmarks.start', '--repeats=3')
    self.assertEqual(outcome.code, 0, outcome.stderr)
    # Five programs, three times: the first takes 1, 6 and 11 seconds.
    self.assertLen(self._ran, 15)
    self.assertIn('6.0 CPU s (1.00; 1.0 to 11.0)', outcome.stdout)
    # TFF's runtime, 8 seconds, beside the cohort context's 7.
    self.assertIn('8.0 CPU s (1.14; 3.0 to 13.0)', outcome.stdout)

  def test_checkouts_take_turns(self):
    other = self.create_tempdir()
    other.create_file('launch/train.py')
    outcome = binary_runner.run_here(
      'launch.benchmarks.start', '--repeats=1', f'--against={other.full_path}'
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    here, there = pathlib.Path.cwd(), pathlib.Path(other.full_path)
    # TFF's runtime knows no checkout.
    self.assertEqual(
      [folder for _, folder in self._ran],
      [here, there, here, there, here, here, there, here],
    )
    self.assertIn(f'launch.train, {other.full_path}', outcome.stdout)

  def test_another_folder_is_refused(self):
    folder = self.create_tempdir().full_path
    outcome = binary_runner.run_here(
      'launch.benchmarks.start', f'--against={folder}'
    )
    self.assertEqual(outcome.code, 2)
    self.assertIn(folder, outcome.stderr)
    self.assertEmpty(self._ran)
