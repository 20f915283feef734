# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The binary of the toy figure."""

import pathlib
import subprocess
import sys

from tests import processes
from tests.launch import binary_runner

from absl.testing import absltest
import pytest


class ToyFigureTest(absltest.TestCase):
  @pytest.mark.slow
  def test_writes_figure_and_barriers(self):
    folder = pathlib.Path(self.create_tempdir().full_path) / 'plots'
    outcome = binary_runner.run_here(
      'launch.toy_figure',
      f'--output_dir={folder}',
      '--seeds=1',
      '--local_epochs=1',
      '--estimator=batch_gradient',
      '--format=svg',
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    self.assertEqual(
      sorted(p.name for p in folder.iterdir()),
      ['toy_regression.csv', 'toy_regression.svg'],
    )
    self.assertIn('median barrier', outcome.stdout)
    self.assertIn('batch gradient', (folder / 'toy_regression.svg').read_text())

  def test_help_teaches(self):
    outcome = subprocess.run(
      [sys.executable, '-m', 'launch.toy_figure', '--help'],
      env=binary_runner.environment(),
      capture_output=True,
      text=True,
      check=False,
      timeout=processes.HANG_SECONDS,
    )
    self.assertEqual((outcome.returncode, outcome.stderr), (0, ''))
    self.assertIn('python -m launch.toy_figure --output_dir', outcome.stdout)

  def test_bad_input_is_one_line(self):
    for arguments in (
      (),
      ('--output_dir=/tmp/x', '--estimator=fisher'),
      ('--output_dir=/tmp/x', '--local_epochs=0'),
      ('--output_dir=/dev/null/plots', '--seeds=1', '--local_epochs=1'),
    ):
      outcome = binary_runner.run_here('launch.toy_figure', *arguments)
      self.assertEqual(outcome.code, 2, outcome.stderr)
      self.assertNotIn('Traceback', outcome.stderr)
