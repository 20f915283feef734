# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what graphs compute; more in frozen_graph_test."""

from fedfish_tff import errors
from fedfish_tff.models import graph_nodes

from absl.testing import absltest
import numpy as np
import tensorflow as tf


def _create_graph(prefix='', factor=3.0):
  """(2 a + b) * factor, beside something else."""
  with tf.Graph().as_default() as graph:
    a = tf.compat.v1.placeholder(tf.float32, [2], name=f'{prefix}a')
    b = tf.compat.v1.placeholder(tf.float32, [2], name=f'{prefix}b')
    both = tf.add(2.0 * a, b, name=f'{prefix}sum')
    tf.negative(a, name=f'{prefix}unused')
    result = tf.multiply(both, factor, name=f'{prefix}product')
    tf.identity(tf.identity(result), name=f'{prefix}output')
  return graph.as_graph_def()


def _create_loop(
  prefix='', steps=3, factor=2.0, swap_branches=False, swap_results=False
):
  """A loop with a branch in it, and the name of its result."""

  def body(i, x, y):
    branches = (lambda: factor * x, lambda: x - 1.0)
    if swap_branches:
      branches = branches[::-1]
    x = tf.cond(tf.reduce_sum(x) > 0, *branches)
    return (i + 1, y, x) if swap_results else (i + 1, x, y)

  @tf.function
  def compute(x):
    return tf.while_loop(
      lambda i, *_: i < steps, body, [0, x, -x], name=f'{prefix}loop'
    )[1]

  spec = tf.TensorSpec([2], tf.float32)
  function = compute.get_concrete_function(spec)
  return function.graph.as_graph_def(), function.outputs[0].name


def _run(graph_def, output, inputs):
  with tf.Graph().as_default() as graph:
    tf.import_graph_def(graph_def, name='')
    with tf.compat.v1.Session(graph=graph) as session:
      return session.run(output, inputs)


class GraphNodesTest(absltest.TestCase):
  def test_needed_nodes(self):
    graph_def = _create_graph()
    names = graph_nodes.needed_nodes(graph_def, 'output:0')
    self.assertIn('a', names)
    self.assertNotIn('unused', names)
    self.assertEqual(names[-1], 'output')
    self.assertLess(names.index('sum'), names.index('product'))
    self.assertLen(set(names), len(names))
    known = graph_nodes.needed_nodes(graph_def, 'output:0', known=['sum:0'])
    self.assertNotIn('sum', known)
    self.assertNotIn('a', known)
    self.assertIn('product', known)

  def test_outputs_of_a_node_are_told_apart(self):
    with tf.Graph().as_default() as graph:
      a = tf.compat.v1.placeholder(tf.float32, [4], name='a')
      first, second = tf.split(a, 2, name='halves')
      tf.add(first, second, name='sum')
    graph_def = graph.as_graph_def()
    for known, needs_a in (
      ([], True),
      (['halves:0'], True),
      (['halves:1'], True),
      (['halves:0', 'halves:1'], False),
    ):
      names = graph_nodes.needed_nodes(graph_def, 'sum:0', known=known)
      self.assertEqual('a' in names, needs_a)

  def test_parts_compute_what_the_whole_does(self):
    graph_def = _create_graph()
    a, b = np.array([1.0, 2.0]), np.array([-3.0, 5.0])
    lower = graph_nodes.take_part(graph_def, 'sum:0')
    upper = graph_nodes.take_part(
      graph_def, 'output:0', replaced='sum:0', placeholder='given'
    )
    self.assertNotIn('product', [node.name for node in lower.node])
    self.assertNotIn('a', [node.name for node in upper.node])
    between = _run(lower, 'sum:0', {'a:0': a, 'b:0': b})
    np.testing.assert_allclose(
      _run(upper, 'output:0', {'given:0': between}), 3 * (2 * a + b)
    )

  def test_source_of_identities(self):
    graph_def = _create_graph()
    self.assertEqual(graph_nodes.source_of(graph_def, 'output:0'), 'product:0')
    self.assertEqual(graph_nodes.source_of(graph_def, 'sum:0'), 'sum:0')

  def test_describe(self):
    digest = graph_nodes.describe(_create_graph(), 'output:0', [])
    self.assertEqual(
      digest, graph_nodes.describe(_create_graph('x_'), 'x_output:0', [])
    )
    for other in (
      graph_nodes.describe(_create_graph(factor=4.0), 'output:0', []),
      graph_nodes.describe(_create_graph(), 'sum:0', []),
      graph_nodes.describe(_create_graph(), 'output:0', ['product/y']),
    ):
      self.assertNotEqual(digest, other)
    self.assertEqual(
      *(
        graph_nodes.describe(_create_graph(factor=f), 'output:0', ['product/y'])
        for f in (3.0, 4.0)
      )
    )

  def test_describe_tells_outputs_of_a_node_apart(self):
    with tf.Graph().as_default() as graph:
      a = tf.compat.v1.placeholder(tf.float32, [4])
      tf.split(a, 2, name='halves')
    graph_def = graph.as_graph_def()
    self.assertNotEqual(
      graph_nodes.describe(graph_def, 'halves:0', []),
      graph_nodes.describe(graph_def, 'halves:1', []),
    )

  def test_describe_loops_and_branches(self):
    """Their functions are numbered by what the process made before."""
    descriptions = [
      graph_nodes.describe(*_create_loop(**options), [])
      for options in (
        {},
        {},
        {'prefix': 'other_'},
        {'steps': 4},
        {'factor': 4.0},
        {'swap_branches': True},
        {'swap_results': True},
      )
    ]
    self.assertEqual(descriptions[0], descriptions[1])
    self.assertEqual(descriptions[0], descriptions[2])
    self.assertLen(set(descriptions), 5)

  def test_effects_in_functions_count(self):
    def describe(message):
      @tf.function
      def shout(x):
        tf.print(message)
        return x

      with tf.Graph().as_default() as graph:
        output = shout(tf.compat.v1.placeholder(tf.float32, []))
      return graph_nodes.describe(graph.as_graph_def(), output.name, [])

    self.assertEqual(describe('a'), describe('a'))
    self.assertNotEqual(describe('a'), describe('b'))

  def test_cycles(self):
    with tf.Graph().as_default() as graph:
      x = tf.compat.v1.placeholder(tf.float32, [])
      enter = tf.raw_ops.Enter(data=x, frame_name='frame')
      merge, _ = tf.raw_ops.Merge(inputs=[enter, enter], name='merge')
      tf.raw_ops.NextIteration(data=merge, name='next')
      graph_def = graph.as_graph_def()
    (node,) = (node for node in graph_def.node if node.name == 'merge')
    node.input[1] = 'next'
    for call in (
      lambda: graph_nodes.needed_nodes(graph_def, 'merge:0'),
      lambda: graph_nodes.describe(graph_def, 'merge:0', []),
    ):
      with self.assertRaisesRegex(
        errors.InputError, "cycle at node 'merge', as of loops of TensorFlow 1"
      ):
        call()
