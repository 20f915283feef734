# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what graphs refuse; frozen_graph_test has what they compute."""

from fedfish_tff import errors
from fedfish_tff.models import traced_graph

from absl.testing import parameterized
import tensorflow as tf

_SPEC = tf.TensorSpec([None, 3], tf.float32)


class TracedGraphTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._bias, self._kernel = (
      tf.Variable(tf.ones(shape)) for shape in ([2], [3, 2])
    )

  def test_images_with_channels_first(self):
    kernel = tf.Variable(tf.ones([2, 2, 3, 1]))
    with self.assertRaisesRegex(
      errors.InputError, 'channels.*first at conv.*CPU'
    ):
      traced_graph.trace_graph(
        lambda x: tf.nn.conv2d(
          x, kernel, 1, 'VALID', data_format='NCHW', name='conv'
        ),
        tf.TensorSpec([None, 3, 8, 8], tf.float32),
      )

  @parameterized.parameters(
    'assign', 'scatter', 'loop', 'call', 'generator', 'state'
  )
  def test_refuses_what_changes_variables(self, way):
    generator = tf.random.Generator.from_seed(0)

    def compute(x):
      if way == 'assign':
        self._bias.assign_add(x[0, :2])
      elif way == 'scatter':
        self._bias.scatter_nd_update([[0]], x[0, :1])
      elif way == 'loop':
        for _ in tf.range(2):
          self._bias.assign_add(x[0, :2])
      elif way == 'call':
        tf.function(self._bias.assign_add)(x[0, :2])
      elif way == 'state':
        x += tf.raw_ops.StatefulUniform(
          resource=generator.state.handle,
          algorithm=1,
          shape=[3],
          dtype=tf.float32,
        )
      else:
        x += generator.uniform([3])
      return x @ self._kernel + self._bias

    with self.assertRaisesRegex(
      errors.InputError, 'must only read its variables, got one that .* changes'
    ):
      traced_graph.trace_graph(compute, _SPEC)
