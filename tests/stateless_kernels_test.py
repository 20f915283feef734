# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what replaces kernels that keep what a call writes."""

from fedfish_tff import stateless_kernels
from tests import tolerance

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

_EPSILON = 1e-3


def _run(operation, *, arrays, attributes, within_function=False):
  """Returns an operation's results after the replacement, and its nodes."""
  with tf.Graph().as_default() as graph:
    inputs = {
      name: tf.compat.v1.placeholder(array.dtype, array.shape)
      for name, array in arrays.items()
    }

    def compute(inputs):
      return list(getattr(tf.raw_ops, operation)(**inputs, **attributes))[:5]

    outputs = (tf.function(compute) if within_function else compute)(inputs)
    outputs = [tf.identity(output) for output in outputs]
    names = [tensor.name for tensor in (*inputs.values(), *outputs)]
    graph_def = graph.as_graph_def()
  stateless_kernels.make_stateless(graph_def)
  with tf.Graph().as_default():
    tensors = tf.graph_util.import_graph_def(
      graph_def, return_elements=names, name=''
    )
    feeds = dict(zip(tensors, arrays.values()))
    with tf.compat.v1.Session() as session:
      results = session.run(tensors[len(inputs) :], feeds)
  nodes = [
    *graph_def.node,
    *(n for f in graph_def.library.function for n in f.node_def),
  ]
  return results, {node.op for node in nodes}


def _images(channels_first, *arrays):
  return [np.moveaxis(a, -1, 1) if channels_first else a for a in arrays]


class MakeStatelessTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    rng = np.random.default_rng(0)
    self.x, self.change = rng.normal(2, 3, size=(2, 3, 4, 5, 6)).astype('f')
    self.scale, self.offset, self.mean = rng.normal(size=(3, 6)).astype('f')
    self.variance = rng.uniform(0.5, 2, size=6).astype('f')
    self.arrays = dict(
      x=self.x,
      scale=self.scale,
      offset=self.offset,
      mean=self.mean,
      variance=self.variance,
    )

  @parameterized.product(
    version=('', 'V2', 'V3'),
    is_training=(True, False),
    channels_first=(True, False),
  )
  def test_normalization(self, version, is_training, channels_first):
    (x,) = _images(channels_first, self.x)
    results, operations = _run(
      f'FusedBatchNorm{version}',
      arrays=self.arrays | dict(x=x),
      attributes=dict(
        epsilon=_EPSILON,
        is_training=is_training,
        data_format='NCHW' if channels_first else 'NHWC',
        exponential_avg_factor=0.25 if is_training else 1.0,
      ),
    )
    self.assertEmpty([op for op in operations if 'FusedBatchNorm' in op])
    x = self.x.astype(np.float64)
    mean, variance = self.mean, self.variance
    running = mean, variance
    if is_training:
      mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
      running = (
        0.75 * self.mean + 0.25 * mean,
        0.75 * self.variance + 0.25 * x.var((0, 1, 2), ddof=1),
      )
    y = (x - mean) / np.sqrt(variance + _EPSILON) * self.scale + self.offset
    expected = [*_images(channels_first, y), *running, mean, variance]
    for result, value in zip(results, expected, strict=True):
      tolerance.assert_close(result, value, relative=tolerance.FLOAT32_SUMS)

  @parameterized.product(
    version=('', 'V2', 'V3'),
    is_training=(True, False),
    channels_first=(True, False),
  )
  def test_gradient(self, version, is_training, channels_first):
    x, change = _images(channels_first, self.x, self.change)
    x64, change64 = self.x.astype(np.float64), self.change.astype(np.float64)
    mean, variance = self.mean, self.variance
    if is_training:
      mean, variance = self.x.mean((0, 1, 2)), self.x.var((0, 1, 2))
    arrays = dict(
      y_backprop=change,
      x=x,
      scale=self.scale,
      reserve_space_1=mean,
      reserve_space_2=variance,
    )
    if version == 'V3':
      arrays['reserve_space_3'] = np.zeros(0, np.float32)
    results, _ = _run(
      f'FusedBatchNormGrad{version}',
      arrays=arrays,
      attributes=dict(
        epsilon=_EPSILON,
        is_training=is_training,
        data_format='NCHW' if channels_first else 'NHWC',
      ),
    )
    # By TensorFlow's automatic differentiation in float64, and not by hand.
    given = [tf.constant(v, tf.float64) for v in (x64, self.scale, self.offset)]
    with tf.GradientTape() as tape:
      tape.watch(given)
      if is_training:
        mean, variance = tf.nn.moments(given[0], [0, 1, 2])
      y = tf.nn.batch_normalization(
        given[0],
        tf.cast(mean, tf.float64),
        tf.cast(variance, tf.float64),
        given[2],
        given[1],
        _EPSILON,
      )
      value = tf.reduce_sum(y * change64)
    expected = [g.numpy() for g in tape.gradient(value, given)]
    expected[:1] = _images(channels_first, expected[0])
    for result, value in zip(results[:3], expected, strict=True):
      tolerance.assert_close(result, value, relative=tolerance.FLOAT32_SUMS)

  def test_within_a_function(self):
    arrays = self.arrays | dict(mean=self.mean[:0], variance=self.mean[:0])
    results = [
      _run(
        'FusedBatchNormV3',
        arrays=arrays,
        attributes={},
        within_function=within,
      )
      for within in (False, True)
    ]
    np.testing.assert_array_equal(results[0][0][0], results[1][0][0])
    self.assertNotIn('FusedBatchNormV3', results[1][1])

  def test_no_images(self):
    """The values of oneDNN's kernel, in TFF's runtime, too."""
    empty, given = np.zeros([0, 2, 2, 6], np.float32), self.mean
    arrays = dict(
      x=empty, scale=given, offset=given, mean=given, variance=self.variance
    )
    (y, *running, mean, variance), _ = _run(
      'FusedBatchNormV3', arrays=arrays, attributes={}
    )
    self.assertEqual(y.shape, empty.shape)
    np.testing.assert_array_equal(running, np.full([2, 6], np.nan))
    np.testing.assert_array_equal([mean, variance], np.zeros([2, 6]))
    arrays = dict(
      y_backprop=empty,
      x=empty,
      scale=given,
      reserve_space_1=mean,
      reserve_space_2=variance,
      reserve_space_3=given[:0],
    )
    (change, *others), _ = _run(
      'FusedBatchNormGradV3', arrays=arrays, attributes={}
    )
    self.assertEqual(change.shape, empty.shape)
    np.testing.assert_array_equal(others[:2], np.zeros([2, 6]))

  def test_half_precision(self):
    arrays = self.arrays | dict(x=self.x.astype(tf.bfloat16.as_numpy_dtype))
    (y, *_), _ = _run(
      'FusedBatchNormV3', arrays=arrays, attributes=dict(is_training=False)
    )
    self.assertEqual(y.dtype, tf.bfloat16.as_numpy_dtype)
    expected = (self.x - self.mean) / np.sqrt(self.variance + 1e-4)
    np.testing.assert_allclose(
      y.astype('f'), expected * self.scale + self.offset, rtol=0.05, atol=0.1
    )

  def test_images_with_a_depth(self):
    """oneDNN has no kernel of these."""
    _, operations = _run(
      'FusedBatchNormV3',
      arrays=self.arrays | dict(x=self.x[None]),
      attributes=dict(data_format='NDHWC', is_training=False),
    )
    self.assertIn('FusedBatchNormV3', operations)


class TraceTest(absltest.TestCase):
  def test_trace(self):
    scale = tf.constant([1.0, 3.0])

    @tf.function
    def normalize(x):
      return tf.compat.v1.nn.fused_batch_norm(x, scale, scale)[0]

    spec = tf.TensorSpec([None, 1, 1, 2])
    function = stateless_kernels.trace(lambda x: normalize(x) + scale, spec)
    again = stateless_kernels.trace(lambda x: normalize(x) * scale, spec)
    x = np.array([0, 0, 2, 4], np.float32).reshape(2, 1, 1, 2)
    # Of a mean of 0 and a variance of 1.
    y = np.array([-1, -1, 1, 1], np.float32).reshape(x.shape)
    for call, expected in (
      (function, y * scale + 2 * scale),
      (again, (y * scale + scale) * scale),
    ):
      np.testing.assert_allclose(call(x), expected, atol=2e-3)
