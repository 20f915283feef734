# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the binaries that draw simulated studies."""

import pathlib

from tests.launch import binary_runner

from absl.testing import parameterized
import pytest

_TOY = 'launch.studies.toy_figure'
_LINEAR = 'launch.studies.linear_representation_figure'


class FiguresTest(parameterized.TestCase):
  @parameterized.parameters(
    (
      _LINEAR,
      ('--most_clients=16',),
      'linear_representation',
      'distance that remains',
      'SRPFL',
    ),
    (
      _TOY,
      ('--local_epochs=1', '--estimator=batch_gradient'),
      'toy_regression',
      'median barrier',
      'batch gradient',
    ),
  )
  @pytest.mark.slow
  def test_writes_figure_and_table(self, binary, options, name, told, drawn):
    folder = pathlib.Path(self.create_tempdir().full_path) / 'plots'
    outcome = binary_runner.run_here(
      binary, f'--output_dir={folder}', '--seeds=1', '--format=svg', *options
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    self.assertEqual(
      sorted(p.name for p in folder.iterdir()), [f'{name}.csv', f'{name}.svg']
    )
    self.assertIn(told, outcome.stdout)
    self.assertIn(drawn, (folder / f'{name}.svg').read_text())

  @parameterized.product(
    binary=(_LINEAR, _TOY),
    arguments=(
      (),
      ('--output_dir=/tmp/x', '--seeds=0'),
      ('--output_dir=/tmp/x', '--format=gif'),
      ('--output_dir=/dev/null/plots', '--seeds=1'),
    ),
  )
  def test_bad_input_is_one_line(self, binary, arguments):
    outcome = binary_runner.run_here(binary, *arguments)
    self.assertEqual(outcome.code, 2)
    self.assertLen(outcome.problems, 1)

  @parameterized.parameters('--estimator=fisher', '--local_epochs=0')
  def test_bad_input_of_the_toy_is_one_line(self, argument):
    outcome = binary_runner.run_here(_TOY, '--output_dir=/tmp/x', argument)
    self.assertEqual(outcome.code, 2)
    self.assertLen(outcome.problems, 1)
