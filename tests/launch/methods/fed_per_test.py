# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of FedPer as configs build it."""

from tests.launch import small_configs

from absl.testing import absltest


class FedPerTest(absltest.TestCase):
  def test_clients_keep_the_layers_of_the_config(self):
    features = small_configs.NUM_FEATURES
    built = small_configs.build(
      'fed_per', **{'algorithm.local_layers': 'hidden_0, output/bias'}
    )
    state_type = built.process.initialize_client.type_signature.result
    self.assertEqual(
      [list(tensor.shape) for tensor in state_type['local']],
      [[64, features], [features], [small_configs.NUM_CLASSES]],
    )
