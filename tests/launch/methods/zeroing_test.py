# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the block `zeroing`."""

from launch.methods import building
from launch.methods import registry
from tests.launch import small_configs

from absl.testing import parameterized
import numpy as np
import tensorflow_federated as tff


class ZeroingTest(parameterized.TestCase):
  @parameterized.parameters(
    # The largest values are 3, 4 and 2, the L2 norms 3, 5 and 2.
    ('largest', 4.5, [3.0 + 0.0 + 2.0, 0.0 + 4.0 + 0.0, 0.0 + 3.0 + 0.0]),
    ('largest', 3.5, [3.0 + 2.0, 0.0, 0.0]),
    ('l2', 4.5, [3.0 + 2.0, 0.0, 0.0]),
    ('l2', 2.5, [2.0, 0.0, 0.0]),
  )
  def test_updates_beyond_the_bound_count_as_zero(self, order, norm, total):
    config = small_configs.read_config(
      f'fed_avg,zeroing={order}', **{'zeroing.norm': norm}
    )
    aggregator = building.Ingredients(config=config, task=None).model_aggregator
    process = aggregator.create(
      tff.to_type(tff.TensorType(np.float32, (3,))), tff.TensorType(np.float32)
    )
    output = process.next(
      process.initialize(),
      [np.float32(u) for u in ([3, 0, 0], [0, 4, 3], [2, 0, 0])],
      [np.float32(1)] * 3,
    )
    np.testing.assert_allclose(output.result, np.array(total) / 3, rtol=1e-6)

  def test_comes_before_any_other_rule(self):
    config = small_configs.read_config(
      'fed_avg,zeroing=l2,aggregation=clipped,compression=quantized'
    )
    self.assertEqual(registry.label(config), 'Zeroing Quantised Clipped FedAvg')
    aggregator = building.Ingredients(config=config, task=None).model_aggregator
    process = aggregator.create(
      tff.to_type(tff.TensorType(np.float32, (3,))), tff.TensorType(np.float32)
    )
    measured = process.next.type_signature.result.measurements.member
    self.assertIn('zeroed_count', dir(measured))
