# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for graph_functions."""

import gc
import weakref

from fedfish_tff import graph_functions
from fedfish_tff import private_apis

from absl.testing import absltest
from absl.testing import parameterized
import tensorflow as tf
from tensorflow.python.eager import context as eager_context


def _graph_def(build):
  """Returns the graph that `build` makes of the placeholders x and unused."""
  with tf.Graph().as_default() as graph:
    x = tf.compat.v1.placeholder(tf.float32, [], name='x')
    tf.compat.v1.placeholder(tf.float32, [], name='unused')
    build(x)
  return graph.as_graph_def()


@tf.function
def _branch(x):
  return tf.cond(x > 0, lambda: x + 1, lambda: x)


def _function(graph_def, outputs, inputs=('x:0',)):
  return graph_functions.GraphFunction(
    graph_functions.extract(graph_def, [*inputs, *outputs]),
    inputs,
    outputs,
    attributes=private_apis.function_call_options(),
  )


class NamesTest(parameterized.TestCase):
  @parameterized.parameters(
    ('node', ('node', 0)),
    ('node:2', ('node', 2)),
    ('scope/a_1:12', ('scope/a_1', 12)),
    ('^node', ('node', 0)),
  )
  def test_split_tensor_name(self, name, expected):
    self.assertEqual(graph_functions.split_tensor_name(name), expected)


class NodesNeededTest(absltest.TestCase):
  def test_each_node_is_after_its_inputs(self):
    def build(x):
      tf.identity(x, name='unused')
      with tf.control_dependencies([tf.identity(x, name='before')]):
        tf.negative(x, name='y')

    nodes = {node.name: node for node in _graph_def(build).node}
    self.assertEqual(
      list(graph_functions.nodes_needed(nodes, ['^y'])), ['x', 'before', 'y']
    )
    self.assertEqual(
      list(graph_functions.nodes_needed(nodes, ['y:0'], known=['x'])),
      ['before', 'y'],
    )

  def test_a_cycle_ends(self):
    with tf.Graph().as_default() as graph:
      tf.compat.v1.disable_control_flow_v2()
      try:
        result = tf.compat.v1.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
      finally:
        tf.compat.v1.enable_control_flow_v2()
    nodes = {node.name: node for node in graph.as_graph_def().node}
    needed = graph_functions.nodes_needed(nodes, [result.name])
    self.assertEqual(set(needed), set(nodes))
    self.assertIn('NextIteration', {node.op for node in needed.values()})


class ExtractTest(absltest.TestCase):
  def test_leaves_out_what_is_not_needed(self):
    @tf.function
    def unused(x):
      return x * 2

    def build(x):
      tf.random.uniform([], name='random')
      tf.identity(unused(x), name='z')
      with tf.control_dependencies([tf.identity(x, name='before')]):
        tf.negative(x, name='y')

    graph_def = _graph_def(build)
    part = graph_functions.extract(graph_def, ['y:0'])
    self.assertCountEqual([n.name for n in part.node], ['x', 'before', 'y'])
    self.assertEmpty(part.library.function)

  def test_functions_get_names_of_their_own(self):
    graph_def = _graph_def(lambda x: tf.identity(_branch(x), name='y'))
    before = {f.signature.name for f in graph_def.library.function}
    self.assertLen(before, 3)
    parts = [graph_functions.extract(graph_def, ['y']) for _ in range(2)]
    names = {f.signature.name for p in parts for f in p.library.function}
    self.assertLen(names, 6)
    for name in before:
      self.assertNotIn(f'"{name}"', str(parts))
    # The graph is as it was.
    self.assertEqual(
      {f.signature.name for f in graph_def.library.function}, before
    )


class GraphFunctionTest(absltest.TestCase):
  def test_calls(self):
    function = _function(
      _graph_def(lambda x: tf.identity(_branch(x), name='y')),
      ['y:0', 'x:0', 'y:0'],
      ['unused:0', 'x:0'],
    )
    one, two = tf.constant(1.0), tf.constant(2.0)
    self.assertEqual(list(function([one, two])), [3.0, 2.0, 3.0])

  def test_what_waits_for_an_argument(self):
    def build(x):
      with tf.control_dependencies([x]):
        tf.constant(5, name='y')

    (y,) = _function(_graph_def(build), ['y:0'])([tf.constant(1.0)])
    self.assertEqual(y, 5)

  def test_no_results(self):
    self.assertEmpty(_function(_graph_def(lambda x: x), [])([tf.constant(1.0)]))

  def test_leaves_the_runtime(self):
    function = _function(
      _graph_def(lambda x: tf.negative(x, name='y')), ['y:0']
    )
    name = function._name
    self.assertTrue(eager_context.context().has_function(name))
    function = weakref.ref(function)
    gc.collect()
    self.assertIsNone(function())
    self.assertFalse(eager_context.context().has_function(name))
