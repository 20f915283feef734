# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of FedAsync as configs build it."""

from fedfish_tff import errors
from launch.methods import config_checks
from tests.launch import small_configs

from absl.testing import absltest


class FedAsyncTest(absltest.TestCase):
  def test_mixes_without_a_server_optimizer(self):
    config = small_configs.make_config('fed_async')
    self.assertEqual(config['algorithm']['mixing_weight'], 0.6)
    self.assertNotIn('server_learning_rate', config)
    for weight, is_valid in ((1.0, True), (0.0, False), (1.5, False)):
      config['algorithm']['mixing_weight'] = weight
      if is_valid:
        config_checks.read(config)
      else:
        with self.assertRaisesRegex(errors.InputError, 'mixing_weight must be'):
          config_checks.read(config)
