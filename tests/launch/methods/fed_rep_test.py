# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of FedRep as configs build it, and of a run of it."""

import pathlib

from fedfish_tff import errors
from tests.launch import small_configs

from absl.testing import absltest


class FedRepTest(absltest.TestCase):
  def test_a_run_that_goes_on_equals_one_without_a_stop(self):
    """Heads come back from the folder of client states."""
    folder = pathlib.Path(self.create_tempdir().full_path)
    config = small_configs.make_config(
      'fed_rep',
      rounds=4,
      checkpoint_every=2,
      **{'evaluation.personalization_epochs': 1},
    )
    with small_configs.built_once():
      whole = small_configs.train(config, folder / 'whole')
      resumed = small_configs.train_with_a_stop(
        config, workdir=folder / 'resumed', after=3
      )
    self.assertEqual(whole['final'], resumed['final'])
    self.assertEqual(whole['test'], resumed['test'])
    self.assertIn('clients/accuracy', whole['test'])
    # The server's model has a head that nobody has trained.
    self.assertEqual(
      whole['best_validation']['metric'], 'eval/personalized/accuracy'
    )

  def test_the_head_needs_an_epoch(self):
    with self.assertRaisesRegex(errors.InputError, 'algorithm.body_epochs.*3'):
      small_configs.build(
        'fed_rep', **{'algorithm.body_epochs': 3, 'local_epochs': 3}
      )
