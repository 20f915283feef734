# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for imported_graph."""

from fedfish_tff.execution.reading import imported_graph

from absl.testing import absltest
import tensorflow as tf


def _graph_def(build):
  """Returns the graph that `build` makes, and the name of what it returns."""
  with tf.Graph().as_default() as graph:
    result = build()
  return graph.as_graph_def(), result


def _operations(function):
  return sorted(node.op for node in function.node_def)


def _counter():
  """A variable that starts from twice the argument; adds the argument."""
  x = tf.compat.v1.placeholder(tf.float32, [], name='x')
  tf.compat.v1.placeholder(tf.float32, [], name='unused')
  variable = tf.Variable(x * 2)
  tf.group(variable.initializer, name='initialize')
  tf.identity(variable.assign_add(x), name='sum')


class GraphFunctionsTest(absltest.TestCase):
  def _build(self, build, **arguments):
    graph_def, _ = _graph_def(build)
    return imported_graph.build_graph_functions(
      graph_def, name='test', **arguments
    )

  def test_leaves_out_what_the_fetches_do_not_need(self):
    def build():
      x = tf.compat.v1.placeholder(tf.float32, [], name='x')
      tf.random.uniform([], name='unused')
      variable = tf.Variable(1.0)
      tf.group(variable.initializer, name='initialize')
      tf.negative(x, name='y')

    functions = self._build(
      build, feeds=['x:0'], fetches=['y:0'], initialize_op='initialize'
    )
    (definition,) = functions.definitions
    self.assertEqual(definition.signature.name, 'test')
    self.assertEqual(_operations(definition), ['Neg'])
    self.assertEmpty(functions.setup)
    self.assertTrue(functions.is_reusable)

  def test_setup_makes_and_initializes_and_hands_on(self):
    functions = self._build(
      _counter,
      feeds=['unused:0', 'x:0'],
      fetches=['sum:0', 'x:0'],
      initialize_op='initialize',
    )
    setup, main = functions.definitions
    self.assertEqual(functions.main, main.signature.name)
    self.assertEqual(functions.setup, setup.signature.name)
    # The initial value needs x; the state goes on to the main function.
    self.assertEqual(functions.setup_feeds, (1,))
    self.assertLen(setup.signature.input_arg, 1)
    self.assertEqual(functions.num_holders, 1)
    self.assertEqual(setup.signature.output_arg[0].type, tf.resource)
    self.assertIn('AssignVariableOp', _operations(setup))
    self.assertNotIn('VarHandleOp', _operations(main))
    self.assertEqual(
      [argument.type for argument in main.signature.input_arg],
      [tf.float32, tf.float32, tf.resource],
    )
    self.assertEqual(
      [result.type for result in main.signature.output_arg],
      [tf.float32, tf.float32],
    )
    self.assertTrue(functions.is_reusable)

  def test_functions_of_the_library_get_names_of_their_own(self):
    @tf.function
    def inner(x):
      return tf.cond(x > 0, lambda: x + 1, lambda: x)

    def build():
      x = tf.compat.v1.placeholder(tf.float32, [], name='x')
      tf.identity(inner(x), name='y')

    graph_def, _ = _graph_def(build)
    before = {f.signature.name for f in graph_def.library.function}
    self.assertLen(before, 3)
    functions = imported_graph.build_graph_functions(
      graph_def, name='test', feeds=['x:0'], fetches=['y:0']
    )
    names = [f.signature.name for f in functions.definitions]
    self.assertLen(set(names), 4)
    for name in names:
      self.assertStartsWith(name, 'test')
    text = str(functions.definitions)
    for name in before:
      self.assertNotIn(f'"{name}"', text)

  def test_what_cannot_be_anonymous_is_not_reused(self):
    def build():
      queue = tf.queue.FIFOQueue(3, [tf.int32], [[]], shared_name='queue')
      tf.identity(queue.size(), name='size')

    functions = self._build(build, feeds=[], fetches=['size:0'])
    self.assertFalse(functions.is_reusable)
    self.assertEqual(functions.reset, 'test_reset')
    self.assertIn('test/queue', str(functions.definitions))
    renamed = imported_graph.rename(functions, 'next')
    self.assertEqual((renamed.main, renamed.reset), ('next', 'next_reset'))
    self.assertIn('next/queue', str(renamed.definitions))
    self.assertNotIn('test', str(renamed.definitions))

  def test_kernels_with_state_are_not_reused(self):
    def build():
      x = tf.quantization.quantize(tf.ones([1, 1]), 0.0, 1.0, tf.quint8)
      w = tf.quantization.quantize(tf.ones([1, 1]), -1.0, 1.0, tf.qint8)
      tf.identity(
        tf.raw_ops.QuantizedMatMulWithBias(
          a=x.output,
          b=w.output,
          bias=tf.zeros([1]),
          min_a=x.output_min,
          max_a=x.output_max,
          min_b=w.output_min,
          max_b=w.output_max,
        ).out,
        name='product',
      )

    functions = self._build(build, feeds=[], fetches=['product:0'])
    self.assertFalse(functions.is_reusable)

  def test_nodes_of_one_variable_become_one(self):
    def build():
      first, second = (
        tf.raw_ops.VarHandleOp(dtype=tf.int32, shape=[], shared_name='shared')
        for _ in range(2)
      )
      assign = tf.raw_ops.AssignVariableOp(resource=first, value=3)
      tf.group(assign, name='initialize')
      tf.raw_ops.ReadVariableOp(resource=second, dtype=tf.int32, name='read')

    functions = self._build(
      build, feeds=[], fetches=['read:0'], initialize_op='initialize'
    )
    self.assertEqual(functions.num_holders, 1)
    self.assertTrue(functions.is_reusable)

  def test_constants_take_the_place_of_nodes(self):
    def build():
      token = tf.compat.v1.placeholder(tf.string, [], name='token')
      tf.strings.length(token, name='length')

    constant = tf.compat.v1.NodeDef(name='token', op='Const')
    constant.attr['dtype'].type = tf.string.as_datatype_enum
    constant.attr['value'].tensor.CopyFrom(tf.make_tensor_proto('abc'))
    functions = self._build(
      build, feeds=[], fetches=['length:0'], constants={'token': constant}
    )
    self.assertEqual(
      _operations(functions.definitions[0]), ['Const', 'StringLength']
    )

  def test_a_node_that_is_not_there_is_named(self):
    graph_def, _ = _graph_def(_counter)
    with self.assertRaisesRegex(imported_graph.GraphError, "node 'absent'"):
      imported_graph.build_graph_functions(
        graph_def, name='test', feeds=['x:0'], fetches=['absent:0']
      )

  def test_an_unknown_operation_is_named(self):
    graph_def = tf.compat.v1.GraphDef()
    graph_def.node.add(name='x', op='NoSuchOperation')
    with self.assertRaisesRegex(
      imported_graph.GraphError, "operation 'NoSuchOperation'"
    ):
      imported_graph.build_graph_functions(
        graph_def, name='test', feeds=[], fetches=['x:0']
      )

  def test_a_function_that_is_not_there_is_named(self):
    def build():
      tf.function(tf.negative)(tf.constant(1))

    graph_def, _ = _graph_def(build)
    (call,) = [n.name for n in graph_def.node if 'Call' in n.op]
    graph_def.ClearField('library')
    with self.assertRaisesRegex(
      imported_graph.GraphError, f"which '{call}' calls"
    ):
      imported_graph.build_graph_functions(
        graph_def, name='test', feeds=[], fetches=[f'{call}:0']
      )

  def test_variables_of_tensorflow_1_are_refused(self):
    def build():
      with tf.compat.v1.variable_scope('scope', use_resource=False):
        variable = tf.compat.v1.get_variable('old', [], dtype=tf.float32)
      tf.identity(variable.read_value(), name='read')

    with self.assertRaisesRegex(imported_graph.GraphError, 'use_resource=True'):
      self._build(build, feeds=[], fetches=['read:0'])
