# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A client's solved head against NumPy's least squares."""

from fedfish_tff import client_work
from fedfish_tff import models

from absl.testing import parameterized
import numpy as np
import tensorflow as tf


def _draw(num_examples):
  rng = np.random.default_rng(num_examples)
  x = rng.normal(size=[num_examples, 6]).astype(np.float32)
  y = rng.normal(size=[num_examples, 1]).astype(np.float32)
  return x, y, tf.data.Dataset.from_tensor_slices((x, y)).batch(4)


class SolveHeadTest(parameterized.TestCase):
  # Of 2 examples no head is the only best one, and of none all are.
  @parameterized.parameters(10, 3, 2, 0)
  def test_is_the_shortest_of_the_best(self, num_examples):
    x, y, dataset = _draw(num_examples)
    rng = np.random.default_rng(1)
    basis = np.linalg.qr(rng.normal(size=[6, 3])).Q.astype(np.float32)
    weights = models.FlatWeights((tf.constant(basis), tf.ones([3, 1])), ())
    solved = tf.function(client_work.solve_head)(weights, dataset)
    np.testing.assert_array_equal(solved.trainable[0], basis)
    expected = np.linalg.pinv(x.astype(np.float64) @ basis) @ y
    np.testing.assert_allclose(solved.trainable[1], expected, atol=1e-5)
