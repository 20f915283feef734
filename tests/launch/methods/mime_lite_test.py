# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of Mime Lite as configs build it."""

from launch.configs import digits
from tests.launch import small_configs

from absl.testing import absltest


class MimeLiteTest(absltest.TestCase):
  def test_takes_the_rates_of_the_config(self):
    fed_avg, mime_lite = map(digits.get_config, ('fed_avg', 'mime_lite'))
    for rate in ('client_learning_rate', 'server_learning_rate'):
      self.assertEqual(fed_avg[rate], mime_lite[rate])

  def test_momentum_is_in_the_server_s_state(self):
    process = small_configs.build('mime_lite').process
    self.assertEqual(process.extra_passes, 1)
    self.assertIn('accumulator', str(process.initialize.type_signature))
