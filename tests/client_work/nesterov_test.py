# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Nesterov's momentum against that of Keras."""

from fedfish_tff import client_work

from absl.testing import absltest
import numpy as np
import tensorflow as tf


class NesterovTest(absltest.TestCase):
  def test_steps_are_those_of_keras(self):
    keras = tf.keras.optimizers.SGD(0.3, momentum=0.9, nesterov=True)
    expected = tf.Variable(np.ones([2, 3], np.float32))
    optimizer = client_work.build_nesterov(0.3, 0.9)
    weights = (tf.ones([2, 3]), tf.ones([2]))
    state = optimizer.initialize(
      tf.nest.map_structure(tf.TensorSpec.from_tensor, weights)
    )
    rng = np.random.default_rng(0)
    for step in range(4):
      gradient = tf.constant(rng.normal(size=[2, 3]).astype(np.float32))
      keras.apply_gradients([(gradient, expected)])
      if step % 2:  # As that of an embedding is.
        gradient = tf.IndexedSlices(gradient, tf.range(2), tf.constant([2, 3]))
      # The loss does not depend on the second weight.
      state, weights = optimizer.next(state, weights, (gradient, None))
    np.testing.assert_allclose(weights[0], expected, rtol=1e-6)
    np.testing.assert_array_equal(weights[1], [1, 1])
