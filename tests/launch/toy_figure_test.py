# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of launch.toy_figure."""

from tests import temporary_folders
from tests.launch import binary_runner

from absl.testing import parameterized
import pytest

_BINARY = 'launch.toy_figure'


class ToyFigureTest(temporary_folders.TestCase):
  @pytest.mark.slow
  def test_writes_figure_and_barriers(self):
    folder = self.folder / 'plots'
    outcome = binary_runner.run_here(
      _BINARY,
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

  @parameterized.parameters(
    ((),),
    (('--output_dir=/tmp/x', '--estimator=fisher'),),
    (('--output_dir=/tmp/x', '--local_epochs=0'),),
    (('--output_dir=/dev/null/plots', '--seeds=1', '--local_epochs=1'),),
  )
  def test_bad_input_is_one_line(self, arguments):
    outcome = binary_runner.run_here(_BINARY, *arguments)
    self.assertEqual(outcome.code, 2)
    self.assertLen(outcome.problems, 1)
