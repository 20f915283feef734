# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of FedBuff as configs build it."""

from launch.methods import fed_buff
from tests.launch import small_configs

from absl.testing import parameterized
import tensorflow as tf


class FedBuffTest(parameterized.TestCase):
  @parameterized.parameters(
    ({}, [1.0, 5**-0.5]),
    ({'staleness_exponent': 1.0}, [1.0, 0.2]),
    ({'staleness_weight': 'constant'}, [1.0, 1.0]),
    (
      {
        'staleness_weight': 'hinge',
        'staleness_slope': 2.0,
        'staleness_delay': 1.0,
      },
      [1.0, 1 / 7],
    ),
  )
  def test_weights_of_staleness(self, fields, expected):
    config = small_configs.read_config(
      'fed_buff', **{f'algorithm.{name}': v for name, v in fields.items()}
    )
    weight = fed_buff.build_staleness_weight(config.algorithm)
    found = [float(weight(tf.constant(d))) for d in (0.0, 4.0)]
    self.assertSequenceAlmostEqual(found, expected, places=6)

  def test_keeps_a_model_more_than_the_largest_staleness(self):
    for changes, kept in (
      ({'participation.max_staleness': 7}, 8),
      ({'participation': {'name': 'uniform'}}, 1),
    ):
      process = small_configs.build(
        'fed_buff,participation=asynchronous', **changes
      ).process
      held = process.initialize().client_work
      self.assertEqual({h.shape[0] for h in tf.nest.flatten(held)}, {kept})
