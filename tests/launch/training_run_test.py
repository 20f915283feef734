# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of a run as a function; tests/launch/train_test.py has the binary's."""

import asyncio
import json
import pathlib

from fedfish_tff import errors
from fedfish_tff import simulation
from launch import training_run
from launch.configs import toy_regression

from absl.testing import absltest


class TrainTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def test_several_runs_in_one_process(self):
    """As notebooks and the demo do; diverging figures stay valid JSON."""
    summaries = {}
    for variant in ('fed_avg', 'per_example'):
      config = toy_regression.get_config(variant)
      config.local_epochs = 1
      config.rounds = 2
      config.evaluation.personalization_epochs = 0
      summaries[variant] = training_run.train(
        config.to_dict(), workdir=self.folder / variant, progress_bar=False
      )
      self.assertEqual(
        json.loads((self.folder / variant / 'summary.json').read_text()),
        summaries[variant],
      )
    one, other = summaries.values()
    self.assertLess(one['totals']['wire_bytes'], other['totals']['wire_bytes'])
    # The Fisher pass.
    self.assertEqual(
      other['totals']['local_steps'], 2 * one['totals']['local_steps']
    )

  def test_the_checkpoint_half_way_is_kept(self):
    config = toy_regression.get_config('fed_avg')
    config.local_epochs = 1
    config.rounds = 7
    config.checkpoint_every = 2
    config.evaluate_every = 7
    config.evaluation.personalization_epochs = 0
    training_run.train(
      config.to_dict(), workdir=self.folder / 'w', progress_bar=False
    )
    manager = simulation.CheckpointManager(self.folder / 'w' / 'checkpoints')
    self.assertEqual(asyncio.run(manager.get_versions()), [3, 6, 7])

  def test_nothing_is_written_if_the_experiment_cannot_be_built(self):
    config = toy_regression.get_config()
    config.cohort_size = 3
    with self.assertRaisesRegex(errors.InputError, 'cohort_size is 3'):
      training_run.train(config.to_dict(), workdir=self.folder / 'w')
    self.assertFalse((self.folder / 'w').exists())

  def test_the_best_round(self):
    rows = [
      {'round': 0, 'm': 1.0},
      {'round': 1},
      {'round': 2, 'm': 3.0},
      {'round': 3, 'm': float('nan')},
      {'round': 4, 'm': 3.0},
    ]
    find = training_run._find_best
    self.assertEqual(
      find(rows, 'm', True),
      {'metric': 'm', 'value': 3.0, 'round': 2, 'higher_is_better': True},
    )
    self.assertEqual(
      find(rows, 'm', False),
      {'metric': 'm', 'value': 1.0, 'round': 0, 'higher_is_better': False},
    )
    self.assertIsNone(find(rows, 'other', True))


if __name__ == '__main__':
  absltest.main()
