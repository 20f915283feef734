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


_FLOAT = tf.TensorSpec([], tf.float32)


class BodyTest(absltest.TestCase):
  def test_order_is_of_what_is_needed_each_after_its_inputs(self):
    with tf.Graph().as_default() as graph:
      a = tf.constant(1, name='a')
      b = tf.add(a, 1, name='b')
      tf.multiply(b, 2, name='unneeded')
      with tf.control_dependencies([tf.no_op(name='before')]):
        tf.add(a, b, name='c')
    body = serialized_graph.Body({n.name: n for n in graph.as_graph_def().node})
    names = [node.name for node in body.order_for(['c'])]
    self.assertCountEqual(names, ['a', 'b', 'b/y', 'before', 'c'])
    self.assertLess(names.index('a'), names.index('b'))
    self.assertLess(names.index('b/y'), names.index('b'))
    self.assertLess(names.index('before'), names.index('c'))
    self.assertEqual(names[-1], 'c')
    self.assertEqual(
      [node.name for node in body.order_for(['c'], known=['b', 'before'])],
      ['a', 'c'],
    )

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

  def test_effects_run_though_no_result_needs_them(self):
    @tf.function
    def checked(x):
      tf.debugging.Assert(x > 0, [x])
      return x + 1

    graph, graph_def = _graph_of(checked, _FLOAT)
    call = _node_of(graph_def, 'StatefulPartitionedCall')
    body = graph.function(call.attr['f'].func.name)
    self.assertNotEmpty(body.effects)
    self.assertContainsSubset(body.effects, [node.name for node in body.order])

  def test_knows_its_library(self):
    graph, graph_def = _graph_of(tf.function(lambda x: x + 1), _FLOAT)
    name = _node_of(graph_def, 'PartitionedCall').attr['f'].func.name
    self.assertTrue(graph.has_function(name))
    self.assertFalse(graph.has_function('AddV2'))
    self.assertIs(graph.function(name), graph.function(name))

  def test_unknown_operations(self):
    graph_def = tf.compat.v1.GraphDef()
    function = graph_def.library.function.add()
    function.signature.name = 'f'
    function.node_def.add(name='n', op='NoSuchOperation')
    with self.assertRaisesRegex(
      serialized_graph.NotReplayableError, 'NoSuchOperation'
    ):
      serialized_graph.SerializedGraph(graph_def).function('f')


class ReadingsTest(absltest.TestCase):
  """Which arguments and outputs anybody needs."""

  def test_arguments(self):
    @tf.function
    def inner(x, y):
      del y
      return x + 1

    @tf.function
    def outer(a, b, c, d):
      del d
      return inner(a, b) * 2, tf.identity(c)

    graph, graph_def = _graph_of(
      lambda x: outer(x, x + 1, x + 2, x + 3), _FLOAT
    )
    (name,) = [
      node.attr['f'].func.name
      for node in graph_def.node
      if node.op == 'PartitionedCall'
    ]
    self.assertEqual(graph.read_arguments(name), {0, 2})

  def test_outputs(self):
    vector = tf.TensorSpec([3], tf.float32)
    graph, graph_def = _graph_of(lambda x: tf.unstack(x)[1] + 1, vector)
    node = graph.main.nodes[_node_of(graph_def, 'Unpack').name]
    self.assertEqual(graph.read_outputs(node), {1})


class CallsTest(absltest.TestCase):
  """Who calls whom with what, and which variables it may write."""

  def setUp(self):
    super().setUp()
    self.written = tf.Variable(1.0)
    self.read = tf.Variable(2.0)

  def _check(self, function, op, *, num_calls, leading=0):
    """Checks a caller that writes one variable and reads the other.

    Args:
      function: From a float to a float.
      op: The caller's operation.
      num_calls: How many functions it calls.
      leading: How many of the caller's inputs are not handed on.
    """
    graph, graph_def = _graph_of(function, _FLOAT)
    node = _node_of(graph_def, op)
    inputs = [name for name in node.input if name[0] != '^']
    calls = graph.calls(node, inputs)
    self.assertLen(calls, num_calls)
    written = set()
    for name, arguments in calls:
      self.assertEqual(list(arguments), inputs[leading:])
      self.assertLen(graph.function(name).arguments, len(arguments))
      written.update(arguments[i] for i in graph.assigned_arguments(name))
    self.assertLen(written, 1)

  def test_call(self):
    inner = tf.function(lambda x: self.written.assign_add(x * self.read))
    self._check(lambda x: inner(x) + 1, 'StatefulPartitionedCall', num_calls=1)

  def test_nested_calls(self):
    inner = tf.function(lambda x: self.written.assign_sub(x * self.read))
    middle = tf.function(lambda x: inner(x) + 1)
    graph, graph_def = _graph_of(tf.function(lambda x: middle(x)), _FLOAT)
    outermost = [n for n in graph_def.node if n.op == 'StatefulPartitionedCall']
    ((name, arguments),) = graph.calls(outermost[0], outermost[0].input)
    self.assertLen(graph.assigned_arguments(name), 1)
    self.assertLen(arguments, 3)

  def test_branch(self):
    def function(x):
      return tf.cond(
        x > 0,
        lambda: self.written.assign(x),
        lambda: self.read + x,
      )

    self._check(function, 'If', num_calls=2, leading=1)

  def test_case(self):
    def function(x):
      return tf.switch_case(
        tf.cast(x, tf.int32),
        [lambda: self.written.assign(x), lambda: self.read + x, lambda: x],
      )

    self._check(function, 'Case', num_calls=3, leading=1)

  def test_loop(self):
    def function(x):
      def body(i, total):
        self.written.assign_add(total)
        return i + 1, total + self.read

      return tf.while_loop(lambda i, _: i < 3, body, (0, x))[1]

    self._check(function, 'While', num_calls=2)

  def test_reduce(self):
    def function(x):
      def add(total, element):
        self.written.assign_add(total)
        return total + tf.cast(element, tf.float32) * self.read

      return tf.data.Dataset.range(3).reduce(x, add)

    graph, graph_def = _graph_of(function, _FLOAT)
    node = _node_of(graph_def, 'ReduceDataset')
    ((name, arguments),) = graph.calls(node, list(node.input))
    # The state, the element, which is no input, and the variables.
    self.assertEqual(
      arguments, [node.input[1], None, node.input[2], node.input[3]]
    )
    (position,) = graph.assigned_arguments(name)
    self.assertIn(position, (2, 3))

  def test_operations_are_counted_with_those_of_calls(self):
    inner = tf.function(lambda x: tf.sin(x) * 2)
    middle = tf.function(lambda x: inner(x) + inner(-x))

    def loop(x):
      return tf.while_loop(
        lambda i, _: i < 3, lambda i, y: (i + 1, middle(y)), (0, x)
      )

    graph, graph_def = _graph_of(loop, _FLOAT)
    name = _node_of(graph_def, 'StatelessWhile').attr['body'].func.name
    operations = graph.operations(name)
    self.assertContainsSubset(
      # `middle` is called once and calls `inner` twice; it adds, and so do the
      # loop and its counter.
      {'PartitionedCall': 3, 'Sin': 2, 'Mul': 2, 'Neg': 1, 'AddV2': 3}.items(),
      operations.items(),
    )
    self.assertNotIn('StatelessWhile', operations)
    self.assertNotIn('Less', operations)
    # Is not counted again.
    self.assertIs(graph.operations(name), operations)
    self.assertContainsSubset(
      {'StatelessWhile': 1, 'Less': 1, 'Sin': 2}.items(),
      graph.main_operations.items(),
    )

  def test_operations_that_may_give_something_else(self):
    self.assertTrue(serialized_graph.draws(['Add', 'RandomUniform']))
    self.assertTrue(serialized_graph.draws(['VarHandleOp']))
    self.assertFalse(serialized_graph.draws(['Add', 'Assert', 'own_function']))

  def test_others_call_nothing(self):
    graph, graph_def = _graph_of(lambda x: x * 2, _FLOAT)
    self.assertEqual(
      graph.calls(_node_of(graph_def, 'Mul'), ['x', 'Mul/y']), []
    )
