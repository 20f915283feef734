# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The binary of the figure of linear representations."""

import pathlib
import subprocess
import sys

from tests import processes
from tests.launch import binary_runner

from absl.testing import absltest
import pytest


class LinearRepresentationFigureTest(absltest.TestCase):
  @pytest.mark.slow
  def test_writes_figure_and_rounds(self):
    folder = pathlib.Path(self.create_tempdir().full_path) / 'plots'
    outcome = binary_runner.run_here(
      'launch.linear_representation_figure',
      f'--output_dir={folder}',
      '--seeds=1',
      '--most_clients=16',
      '--format=svg',
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    self.assertEqual(
      sorted(p.name for p in folder.iterdir()),
      ['linear_representation.csv', 'linear_representation.svg'],
    )
    self.assertIn('distance that remains', outcome.stdout)

  def test_help_teaches(self):
    outcome = subprocess.run(
      [sys.executable, '-m', 'launch.linear_representation_figure', '--help'],
      env=binary_runner.environment(),
      capture_output=True,
      text=True,
      check=False,
      timeout=processes.HANG_SECONDS,
    )
    self.assertEqual((outcome.returncode, outcome.stderr), (0, ''))
    self.assertIn(
      'python -m launch.linear_representation_figure --output_dir',
      outcome.stdout,
    )

  def test_bad_input_is_one_line(self):
    for arguments in (
      (),
      ('--output_dir=/tmp/x', '--seeds=0'),
      ('--output_dir=/tmp/x', '--format=gif'),
      ('--output_dir=/dev/null/plots', '--seeds=1'),
    ):
      outcome = binary_runner.run_here(
        'launch.linear_representation_figure', *arguments
      )
      self.assertEqual(outcome.code, 2, outcome.stderr)
      self.assertNotIn('Traceback', outcome.stderr)
