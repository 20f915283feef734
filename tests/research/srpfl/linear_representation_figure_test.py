# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of research.srpfl.linear_representation_figure."""

import pathlib

from tests.launch import binary_runner

from absl.testing import parameterized
import pytest

_BINARY = 'research.srpfl.linear_representation_figure'


class LinearRepresentationFigureTest(parameterized.TestCase):
  @pytest.mark.slow
  def test_writes_figure_and_rounds(self):
    folder = pathlib.Path(self.create_tempdir().full_path) / 'plots'
    outcome = binary_runner.run_here(
      _BINARY,
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

  @parameterized.parameters(
    ((),),
    (('--output_dir=/tmp/x', '--seeds=0'),),
    (('--output_dir=/tmp/x', '--format=gif'),),
    (('--output_dir=/dev/null/plots', '--seeds=1'),),
  )
  def test_bad_input_is_one_line(self, arguments):
    outcome = binary_runner.run_here(_BINARY, *arguments)
    self.assertEqual(outcome.code, 2)
    self.assertLen(outcome.problems, 1)
