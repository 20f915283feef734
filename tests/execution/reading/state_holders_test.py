# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for state_holders."""

from fedfish_tff.execution.reading import state_holders

from absl.testing import absltest
from absl.testing import parameterized
import tensorflow as tf


def _nodes(build):
  """Returns the nodes that `build` makes, by name."""
  with tf.Graph().as_default() as graph:
    build()
  return {node.name: node for node in graph.as_graph_def().node}


def _node(build, op):
  """Returns the one node of an operation."""
  (node,) = [node for node in _nodes(build).values() if node.op == op]
  return node


def _variable(name='kept'):
  return tf.raw_ops.VarHandleOp(
    dtype=tf.float32, shape=[], shared_name=name, name='variable'
  )


def _table():
  return tf.raw_ops.HashTableV2(
    key_dtype=tf.string, value_dtype=tf.int64, shared_name='kept'
  )


def _queue():
  return tf.queue.FIFOQueue(3, [tf.int32], [[]], shared_name='kept')


class HoldsStateTest(parameterized.TestCase):
  @parameterized.parameters(
    (_variable, 'VarHandleOp'), (_table, 'HashTableV2'), (_queue, 'FIFOQueueV2')
  )
  def test_what_does(self, build, op):
    node = _node(build, op)
    self.assertTrue(state_holders.holds_state(node))
    self.assertEqual(state_holders.state_name(node), b'kept')

  @parameterized.parameters('Placeholder', 'ReadVariableOp', 'NoSuchOperation')
  def test_what_does_not(self, op):
    node = tf.compat.v1.NodeDef(name='n', op=op)
    self.assertFalse(state_holders.holds_state(node))
    self.assertEqual(state_holders.state_name(node), b'')

  def test_names_in_functions(self):
    function = tf.compat.v1.GraphDef().library.function.add()
    for build, op, name in (
      (_variable, 'VarHandleOp', b'a'),
      (_table, 'HashTableV2', b'b'),
      (_variable, 'VarHandleOp', b'c'),
    ):
      node = _node(build, op)
      node.attr['shared_name'].s = name
      if name == b'c':
        self.assertTrue(state_holders.make_anonymous(node, ()))
      function.node_def.append(node)
    function.node_def.add(name='n', op='AnonymousHashTable')
    self.assertEqual(state_holders.names_in_use(function), {b'a', b'b'})


class MergeHoldersTest(absltest.TestCase):
  def test_nodes_of_one_name(self):
    def build():
      for i, name in enumerate(('x', 'y', 'x')):
        handle = tf.raw_ops.VarHandleOp(
          dtype=tf.int32, shape=[], shared_name=name, name=f'handle{i}'
        )
        tf.raw_ops.ReadVariableOp(
          resource=handle, dtype=tf.int32, name=f'read{i}'
        )

    nodes = _nodes(build)
    state_holders.merge_holders(nodes)
    self.assertEqual(
      [nodes[f'read{i}'].input[0] for i in range(3)],
      ['handle0', 'handle1', 'handle0'],
    )

  def test_nodes_without_a_name_stay_apart(self):
    def build():
      for i in range(2):
        handle = tf.raw_ops.VarHandleOp(
          dtype=tf.int32, shape=[], name=f'handle{i}'
        )
        tf.raw_ops.ReadVariableOp(
          resource=handle, dtype=tf.int32, name=f'read{i}'
        )

    nodes = _nodes(build)
    state_holders.merge_holders(nodes)
    self.assertEqual(nodes['read1'].input[0], 'handle1')


class MakeAnonymousTest(absltest.TestCase):
  def test_variables_are_of_one_call(self):
    node = _node(_variable, 'VarHandleOp')

    def is_shared():
      first, second = (
        tf.raw_ops.VarHandleOp(
          dtype=tf.float32, shape=[], shared_name=node.attr['shared_name'].s
        )
        for _ in range(2)
      )
      tf.raw_ops.AssignVariableOp(resource=first, value=1.0)
      return bool(tf.raw_ops.VarIsInitializedOp(resource=second))

    self.assertTrue(is_shared())
    self.assertTrue(state_holders.make_anonymous(node, ()))
    self.assertFalse(is_shared())

  def test_tables_lose_what_the_anonymous_form_does_not_know(self):
    node = _node(_table, 'HashTableV2')
    self.assertTrue(state_holders.make_anonymous(node, ()))
    self.assertEqual(node.op, 'AnonymousHashTable')
    self.assertCountEqual(node.attr, ['key_dtype', 'value_dtype'])

  def test_what_functions_look_up_keeps_its_name(self):
    node = _node(_variable, 'VarHandleOp')
    self.assertFalse(state_holders.make_anonymous(node, [b'kept']))
    self.assertEqual(state_holders.state_name(node), b'kept')

  def test_what_has_no_anonymous_form(self):
    node = _node(_queue, 'FIFOQueueV2')
    self.assertFalse(state_holders.make_anonymous(node, ()))
    state_holders.rename_state(node, 'graph')
    self.assertEqual(state_holders.state_name(node), b'graph/kept')

  def test_no_new_names_for_what_has_none(self):
    node = _node(_variable, 'VarHandleOp')
    state_holders.make_anonymous(node, ())
    anonymous = state_holders.state_name(node)
    state_holders.rename_state(node, 'graph')
    self.assertEqual(state_holders.state_name(node), anonymous)
    node.attr['shared_name'].s = b''
    state_holders.rename_state(node, 'graph')
    self.assertEqual(state_holders.state_name(node), b'')
