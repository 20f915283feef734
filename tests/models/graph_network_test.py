# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of graphs as extractors; more in frozen_graph_test."""

from fedfish_tff import errors
from fedfish_tff.models import graph_network
from tests import tolerance

from absl.testing import absltest
import numpy as np
import tensorflow as tf

_KERNEL = np.random.default_rng(0).standard_normal([12, 5]).astype(np.float32)


def _create_network(dtype=tf.float32):
  """x [n, 2, 2, 3] * scale as `dtype`, then a product with a matrix."""
  with tf.Graph().as_default() as graph:
    x = tf.compat.v1.placeholder(tf.float32, [None, 2, 2, 3], name='x')
    scale = tf.constant([1.0, 2.0, 3.0], name='scale')
    scaled = tf.cast(x * scale, dtype, name='scaled')
    flat = tf.reshape(tf.cast(scaled, tf.float32), [-1, 12])
    kernel = tf.constant(_KERNEL, name='kernel')
    result = tf.matmul(flat, kernel, name='result')
  return graph_network.GraphNetwork(
    name='tiny',
    graph_def=graph.as_graph_def(),
    inputs='x:0',
    input_spec=tf.TensorSpec([None, 2, 2, 3], tf.float32),
    output=tf.TensorSpec(result.shape, tf.float32, 'result:0'),
    weights={
      'scale': np.array([1.0, 2.0, 3.0], np.float32),
      'elsewhere': np.zeros(7, np.float32),
      'kernel': _KERNEL,
    },
    splits={'dense': tf.TensorSpec(scaled.shape, dtype, scaled.name)},
  )


class GraphNetworkTest(absltest.TestCase):
  def test_whole_and_parts(self):
    x = np.random.default_rng(1).standard_normal([4, 2, 2, 3])
    x = x.astype(np.float32)
    whole = _create_network().extractor()
    between = (x * [1, 2, 3]).reshape(4, 12)
    np.testing.assert_allclose(
      whole.extract(x), between @ _KERNEL, rtol=1e-4, atol=1e-5
    )
    self.assertLen(whole.initial_weights, 2)
    lower, upper = whole.split('dense')
    np.testing.assert_allclose(lower.extract(x), between, rtol=1e-6)
    tolerance.assert_close(upper.extract(lower.extract(x)), whole.extract(x))
    (scale,) = lower.initial_weights
    np.testing.assert_array_equal(scale, [1, 2, 3])
    (kernel,) = upper.initial_weights
    np.testing.assert_array_equal(kernel, _KERNEL)
    tolerance.assert_close(
      upper.apply([2 * kernel], tf.constant(lower.extract(x))),
      2 * whole.extract(x),
    )

  def test_other_numbers_between(self):
    with self.assertRaisesRegex(errors.InputError, r'int32\[None, 2, 2, 3\]'):
      _create_network(tf.int32).extractor().split('dense')
