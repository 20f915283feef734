# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of FedPer as configs build it."""

from tests.launch import small_configs

from absl.testing import parameterized

_SHAPES = {
  'hidden_0/kernel': [64, small_configs.NUM_FEATURES],
  'hidden_0/bias': [small_configs.NUM_FEATURES],
  'output/kernel': [small_configs.NUM_FEATURES, small_configs.NUM_CLASSES],
  'output/bias': [small_configs.NUM_CLASSES],
}


class FedPerTest(parameterized.TestCase):
  @parameterized.parameters(
    ('', ['output/kernel', 'output/bias']),
    (
      'hidden_0, output/bias',
      ['hidden_0/kernel', 'hidden_0/bias', 'output/bias'],
    ),
  )
  def test_clients_keep_the_layers_of_the_config(self, layers, expected):
    built = small_configs.build('fed_per', **{'algorithm.local_layers': layers})
    state_type = built.process.initialize_client.type_signature.result
    self.assertEqual(
      [list(tensor.shape) for tensor in state_type['local']],
      [_SHAPES[name] for name in expected],
    )
