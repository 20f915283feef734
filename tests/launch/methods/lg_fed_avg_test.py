# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of LG-FedAvg as configs build it."""

from tests.launch import small_configs

from absl.testing import absltest


class LgFedAvgTest(absltest.TestCase):
  def test_clients_keep_what_comes_before_the_last_layer(self):
    built = small_configs.build('lg_fed_avg')
    state_type = built.process.initialize_client.type_signature.result
    self.assertEqual(
      [list(tensor.shape) for tensor in state_type['local']],
      [[64, small_configs.NUM_FEATURES], [small_configs.NUM_FEATURES]],
    )
    self.assertEqual(
      built.wire_bytes.download,
      4 * (small_configs.NUM_FEATURES + 1) * small_configs.NUM_CLASSES,
    )
