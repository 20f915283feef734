# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of SCAFFOLD as configs build it."""

import pathlib

from tests.launch import small_configs

from absl.testing import absltest


class ScaffoldTest(absltest.TestCase):
  def test_a_run_that_goes_on_equals_one_without_a_stop(self):
    """Control variates come back from the folder of client states."""
    folder = pathlib.Path(self.create_tempdir().full_path)
    config = small_configs.make_config('scaffold', rounds=4, checkpoint_every=2)
    whole = small_configs.train(config, folder / 'whole')
    resumed = small_configs.train_with_a_stop(
      config, workdir=folder / 'resumed', after=3
    )
    self.assertEqual(whole['final'], resumed['final'])
    self.assertEqual(whole['test'], resumed['test'])
    # Clients have no models of their own to score.
    self.assertFalse([n for n in whole['test'] if n.startswith('clients/')])
