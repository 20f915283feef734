# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for vectorized_operations: as one client after the other."""

from fedfish_tff.execution.reading import serialized_graph
from fedfish_tff.execution.replay import vectorized_operations

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

_CLIENTS = 3


def _normal(*shape):
  rng = np.random.default_rng(len(shape))
  return tf.constant(rng.normal(size=shape), tf.float32)


def _convolve(images, kernel, padding):
  """Returns a convolution and its gradients, of images and of the kernel."""
  with tf.GradientTape() as tape:
    tape.watch((images, kernel))
    result = tf.nn.conv2d(images, kernel, [2, 1], padding, dilations=1)
    loss = tf.reduce_sum(tf.sin(result))
  return [result, *tape.gradient(loss, (images, kernel))]


class MapClientsTest(parameterized.TestCase):
  def check(self, run_client, clients=_CLIENTS):
    """Compares with TensorFlow's own operations, client by client."""

    # XLA has gradients of grouped convolutions on CPUs, unlike TensorFlow.
    @tf.function(autograph=False, jit_compile=True)
    def run():
      return vectorized_operations.map_clients(run_client, tf.range(clients))

    found = run()
    for i in range(clients):
      for own, expected in zip(found, run_client(tf.constant(i)), strict=True):
        np.testing.assert_allclose(own[i], expected, rtol=1e-5, atol=1e-5)

  @parameterized.product(
    padding=('SAME', 'VALID'),
    own=(('images', 'kernel'), ('images',), ('kernel',)),
  )
  def test_convolutions(self, padding, own):
    """Images and kernels, each client's own or common ones."""
    images, kernels = (
      _normal(_CLIENTS, 2, 5, 6, 3),
      _normal(_CLIENTS, 3, 2, 3, 4),
    )

    def run_client(i):
      return _convolve(
        tf.gather(images, i if 'images' in own else 0),
        tf.gather(kernels, i if 'kernel' in own else 0),
        padding,
      )

    self.check(run_client)

  def test_explicit_padding(self):
    images, kernels = (
      _normal(_CLIENTS, 2, 5, 6, 3),
      _normal(_CLIENTS, 3, 2, 3, 4),
    )
    self.check(
      lambda i: _convolve(
        tf.gather(images, i),
        tf.gather(kernels, i),
        [[0, 0], [1, 0], [0, 2], [0, 0]],
      )
    )

  def test_branches(self):
    values = _normal(_CLIENTS, 4)

    def run_client(i):
      return tf.cond(
        i == 1,
        lambda: [tf.gather(values, i) * 2.0, tf.constant(1)],
        lambda: [tf.gather(values, i) + 1.0, tf.constant(0)],
      )

    self.check(run_client)

  def test_a_branch_for_all(self):
    values = _normal(_CLIENTS, 4)
    self.check(
      lambda i: tf.cond(
        tf.size(values) > 3,
        lambda: [tf.gather(values, i) * 2.0],
        lambda: [tf.gather(values, i)],
      )
    )

  def test_refuses_what_cannot_be_done_at_once(self):
    volumes, kernels = (
      _normal(_CLIENTS, 1, 3, 3, 3, 1),
      _normal(_CLIENTS, 1, 1, 1, 1, 1),
    )
    with self.assertRaises(serialized_graph.NotReplayableError):
      self.check(
        lambda i: [
          tf.nn.conv3d(
            tf.gather(volumes, i), tf.gather(kernels, i), [1] * 5, 'SAME'
          )
        ]
      )
