# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for serialized_graph."""

from fedfish_tff import graph_functions
from fedfish_tff.execution.reading import serialized_graph

from absl.testing import absltest
import tensorflow as tf


def _graph_of(function, *specs):
  """Returns the replay graph of a `tf.function`, and its function's name."""
  concrete = tf.function(function).get_concrete_function(*specs)
  graph_def = concrete.graph.as_graph_def()
  return serialized_graph.SerializedGraph(graph_def), graph_def


def _node_of(graph_def, op):
  (node,) = (n for n in graph_functions.nodes(graph_def) if n.op == op)
  return node


class BodyTest(absltest.TestCase):
  def test_a_long_chain(self):
    """Deeper than Python's own recursion may be."""
    with tf.Graph().as_default() as graph:
      x = tf.constant(0.0)
      for _ in range(3000):
        x = tf.identity(x)
    body = serialized_graph.Body({n.name: n for n in graph.as_graph_def().node})
    self.assertLen(body.order_for([x.op.name]), 3001)

  def test_a_cycle(self):
    with tf.Graph().as_default() as graph:
      tf.compat.v1.disable_control_flow_v2()
      try:
        result = tf.compat.v1.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
      finally:
        tf.compat.v1.enable_control_flow_v2()
    body = serialized_graph.Body({n.name: n for n in graph.as_graph_def().node})
    with self.assertRaisesRegex(
      serialized_graph.NotReplayableError, 'a loop of TensorFlow 1'
    ):
      body.order_for([result.op.name])


class SerializedGraphTest(absltest.TestCase):
  def test_names_inside_of_functions_are_flat(self):
    @tf.function
    def parts(x):
      # TopKV2 has two outputs; Split has one of several tensors.
      values, indices = tf.math.top_k(x, 2)
      first, second, third = tf.split(x, 3)
      return indices, values, third, first, second

    graph, graph_def = _graph_of(parts, tf.TensorSpec([6], tf.float32))
    call = _node_of(graph_def, 'PartitionedCall')
    body = graph.function(call.attr['f'].func.name)
    self.assertLen(body.arguments, 1)
    self.assertEqual(body.nodes[body.arguments[0]].op, '_Argument')
    sources = []
    for result in body.results:
      node, _ = graph_functions.split_tensor_name(result)
      self.assertEqual(body.nodes[node].op, 'Identity')
      source, index = graph_functions.split_tensor_name(
        body.nodes[node].input[0]
      )
      sources.append((body.nodes[source].op, index))
    self.assertEqual(
      sources,
      [('TopKV2', 1), ('TopKV2', 0)] + [('Split', i) for i in (2, 0, 1)],
    )

  def test_unknown_operations(self):
    graph_def = tf.compat.v1.GraphDef()
    function = graph_def.library.function.add()
    function.signature.name = 'f'
    function.node_def.add(name='n', op='NoSuchOperation')
    with self.assertRaisesRegex(
      serialized_graph.NotReplayableError, 'NoSuchOperation'
    ):
      serialized_graph.SerializedGraph(graph_def).function('f')


class CallsTest(absltest.TestCase):
  """Calls between functions, and the variables that they may write."""

  def test_operations_that_may_give_something_else(self):
    self.assertTrue(serialized_graph.draws(['Add', 'RandomUniform']))
    self.assertTrue(serialized_graph.draws(['VarHandleOp']))
    self.assertFalse(serialized_graph.draws(['Add', 'Assert', 'own_function']))
