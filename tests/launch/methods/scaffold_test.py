# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of SCAFFOLD as configs build it."""

from tests.launch import small_configs

from absl.testing import absltest


class ScaffoldTest(absltest.TestCase):
  def test_clients_have_no_models_of_their_own_to_score(self):
    folder = self.create_tempdir().full_path
    config = small_configs.make_config('scaffold', rounds=1)
    with small_configs.built_once():
      summary = small_configs.train(config, folder)
    self.assertIn('global/accuracy', summary['test'])
    self.assertFalse([n for n in summary['test'] if n.startswith('clients/')])
