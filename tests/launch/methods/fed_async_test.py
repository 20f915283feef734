# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of FedAsync as configs build it."""

from fedfish_tff import errors
from tests.launch import small_configs

from absl.testing import absltest


class FedAsyncTest(absltest.TestCase):
  def test_mixes_without_a_server_optimizer(self):
    config = small_configs.read_config('fed_async')
    self.assertEqual(config.algorithm.mixing_weight, 0.6)
    self.assertIsNone(config.server_learning_rate)
    with self.assertRaisesRegex(errors.InputError, 'mixing_weight must be'):
      small_configs.read_config('fed_async', **{'algorithm.mixing_weight': 0.0})
