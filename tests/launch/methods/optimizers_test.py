# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the optimizers that configs name."""

from launch.methods import optimizers

from absl.testing import absltest
import numpy as np
import tensorflow as tf


class OptimizersTest(absltest.TestCase):
  def test_builds_every_optimizer_with_its_rate(self):
    for name, optimizer in optimizers.OPTIMIZERS.items():
      state = optimizers.build(name, 0.25, parameter='rate').initialize([])
      self.assertAlmostEqual(
        state['learning_rate'], 0.25 * optimizer.scale, msg=name
      )

  def test_no_optimizer_decays_weights_unasked(self):
    weights = (tf.ones([3]),)
    for name in optimizers.OPTIMIZERS:
      optimizer = optimizers.build(name, 0.25, parameter='rate')
      state = optimizer.initialize((tf.TensorSpec([3], tf.float32),))
      _, (after,) = optimizer.next(state, weights, (tf.zeros([3]),))
      np.testing.assert_array_equal(after, weights[0], err_msg=name)

  def test_mean_momentum_is_a_mean_of_gradients(self):
    """m <- 0.9 m + 0.1 g, w <- w - rate m (Karimireddy et al., 2021)."""
    optimizer = optimizers.build('mean_sgdm', 0.5, parameter='rate')
    state = optimizer.initialize((tf.TensorSpec([2], tf.float32),))
    weights, expected, mean = (tf.zeros([2]),), np.zeros(2), np.zeros(2)
    for gradient in ([1.0, -2.0], [3.0, 0.5], [-1.0, 4.0]):
      state, weights = optimizer.next(state, weights, (tf.constant(gradient),))
      mean = 0.9 * mean + 0.1 * np.array(gradient)
      expected = expected - 0.5 * mean
    np.testing.assert_allclose(weights[0], expected, rtol=1e-5)
