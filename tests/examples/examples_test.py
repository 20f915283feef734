# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the examples of a method and of a task of one's own."""

import json
import pathlib

from examples import cellars
from examples import clipped_fed_avg_limits
from tests.launch import binary_runner

from absl.testing import absltest


class ClippedFedAvgTest(absltest.TestCase):
  def test_a_large_norm_is_that_of_fed_avg(self):
    clipped_fed_avg_limits.test_a_large_norm_is_that_of_fed_avg()

  def test_no_round_moves_the_model_further_than_the_norm(self):
    clipped_fed_avg_limits.test_no_round_moves_the_model_further_than_the_norm()


class CellarsTest(absltest.TestCase):
  def test_is_trained_as_any_task(self):
    variant = 'examples.clipped_fed_avg:METHOD'
    workdir = pathlib.Path(self.create_tempdir().full_path) / 'run'
    outcome = binary_runner.run_here(
      'launch.train',
      f'--config={cellars.__file__}:{variant}',
      f'--workdir={workdir}',
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    summary = json.loads((workdir / 'summary.json').read_text())
    self.assertEqual(summary['task'], 'cellars')
    self.assertEqual(summary['algorithm'], variant)
    # Three cultivars that are easily told apart.
    self.assertGreater(summary['test']['global/accuracy'], 0.8)
