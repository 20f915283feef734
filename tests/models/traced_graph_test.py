# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of functions as graphs, against these; see frozen_graph_test."""

from fedfish_tff import errors
from fedfish_tff.models import traced_graph
from tests import tolerance

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import tensor_util

_SPEC = tf.TensorSpec([None, 3], tf.float32)


def _run(traced, x):
  """Runs a graph, which has no variables, alone."""
  with tf.Graph().as_default() as graph:
    tf.import_graph_def(traced.graph_def, name='')
    with tf.compat.v1.Session(graph=graph) as session:
      return session.run(
        [spec.name for spec in traced.outputs], {traced.inputs: x}
      )


def _rows(count=4):
  return np.random.default_rng(0).normal(size=[count, 3]).astype(np.float32)


def _create_graph():
  """(2 a + b) * 3, beside something else."""
  with tf.Graph().as_default() as graph:
    a = tf.compat.v1.placeholder(tf.float32, [2], name='a')
    b = tf.compat.v1.placeholder(tf.float32, [2], name='b')
    both = tf.add(2.0 * a, b, name='sum')
    tf.negative(a, name='unused')
    result = tf.multiply(both, 3.0, name='product')
    tf.identity(tf.identity(result), name='output')
  return graph.as_graph_def()


class PartsTest(parameterized.TestCase):
  def test_take_part(self):
    graph_def = _create_graph()
    part = traced_graph.take_part(graph_def, 'sum:0')
    names = {node.name for node in part.node}
    self.assertContainsSubset({'a', 'b', 'sum'}, names)
    self.assertNoCommonElements({'unused', 'product', 'output'}, names)
    a, b = np.array([1.0, 2.0]), np.array([-3.0, 5.0])
    with tf.Graph().as_default() as graph:
      tf.import_graph_def(part, name='')
      with tf.compat.v1.Session(graph=graph) as session:
        found = session.run('sum:0', {'a:0': a, 'b:0': b})
    np.testing.assert_allclose(found, 2 * a + b)

  def test_source_of_identities(self):
    graph_def = _create_graph()
    for tensor, source in (
      ('output:0', 'product:0'),
      ('output', 'product:0'),
      ('sum:0', 'sum:0'),
    ):
      self.assertEqual(traced_graph.source_of(graph_def, tensor), source)


class TracedGraphTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    rng = np.random.default_rng(1)
    # One that is not read, and two that are read in another order.
    self._bias, self._unused, self._kernel = (
      tf.Variable(rng.normal(size=shape).astype(np.float32))
      for shape in ([2], [5], [3, 2])
    )

  def _trace(self):
    def compute(x):
      hidden = x @ self._kernel
      return {'sum': hidden + self._bias, 'even': tf.shape(x)[0] % 2 == 0}

    return traced_graph.trace_graph(compute, _SPEC), compute

  def test_outputs_equal_those_of_the_function(self):
    traced, compute = self._trace()
    for count in (4, 1):
      expected = compute(_rows(count))
      # In the order of their keys, as tf.nest.
      even, total = _run(traced, _rows(count))
      self.assertEqual(even, expected['even'].numpy())
      tolerance.assert_close(total, expected['sum'])
    even, total = traced.outputs
    self.assertEqual((even.dtype, even.shape), (tf.bool, []))
    self.assertEqual(
      (total.dtype, total.shape.as_list()), (tf.float32, [None, 2])
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

  def test_variables_are_constants_of_their_values(self):
    traced, compute = self._trace()
    expected = compute(_rows())['sum']
    nodes = {node.name: node for node in traced.graph_def.node}
    for (name, found), variable in zip(
      traced.variables.items(), (self._kernel, self._bias), strict=True
    ):
      self.assertIs(found, variable)
      self.assertEqual(nodes[name].op, 'Const')
      np.testing.assert_array_equal(
        tensor_util.MakeNdarray(nodes[name].attr['value'].tensor), variable
      )
    for variable in traced.variables.values():
      variable.assign(0 * variable)
    tolerance.assert_close(_run(traced, _rows())[1], expected)

  def test_variables_of_a_loop(self):
    def compute(x):
      return tf.while_loop(
        lambda i, _: i < 3,
        lambda i, x: (i + 1, x @ self._kernel @ tf.transpose(self._kernel)),
        [0, x],
      )[1]

    traced = traced_graph.trace_graph(compute, _SPEC)
    self.assertEqual([*traced.variables.values()], [self._kernel])
    tolerance.assert_close(_run(traced, _rows())[0], compute(_rows()))

  def test_gradients_do_not_ask_for_functions_of_another_graph(self):
    traced = traced_graph.trace_graph(tf.nn.silu, _SPEC)
    x = tf.constant(_rows())

    @tf.function
    def gradient(x):
      (y,) = tf.graph_util.import_graph_def(
        traced.graph_def,
        input_map={traced.inputs: x},
        return_elements=[traced.outputs[0].name],
      )
      return tf.gradients(y, x)[0]

    share = 1 / (1 + np.exp(-_rows()))
    tolerance.assert_close(
      gradient(x),
      share * (1 + _rows() * (1 - share)),
      relative=tolerance.FLOAT32,
    )
    self.assertNotIn('_gradient_op_type', str(traced.graph_def))

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
