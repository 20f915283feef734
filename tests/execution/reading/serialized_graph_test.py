# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of serialized graphs, and of empty factors in them."""

from fedfish_tff import graph_functions
from fedfish_tff.execution.reading import serialized_graph
from tests.execution import client_computations
from tests.execution import two_contexts

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


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


def _weight(x, y):
  """Returns the share of x in the elements of x and y."""
  counts = [tf.cast(tf.reduce_prod(tf.shape(t)), tf.float32) for t in (x, y)]
  return counts[0] / tf.reduce_sum(tf.stack(counts))


# A function of x, without elements, and of y, zeros; and its value.
_CASES = dict(
  # As discretizations of TFF measure their distortion.
  weighted=(
    lambda x, y: tf.reduce_mean(tf.square(x)) * _weight(x, y),
    0,
  ),
  deviation=(lambda x, y: _weight(x, y) * tf.math.reduce_std(x), 0),
  ratio=(
    lambda x, y: tf.reduce_sum(x) / tf.cast(tf.size(x), tf.float32) * 0.0,
    0,
  ),
  maximum=(lambda x, y: tf.cast(tf.reduce_max(x), tf.float64) * 0.0, 0),
  divisor=(lambda x, y: 0.0 / tf.reduce_mean(x), 0),
  matrices=(
    lambda x, y: tf.reshape(tf.reduce_mean(x), [1, 1]) @ tf.zeros([1, 1]),
    [[0]],
  ),
  branch=(
    lambda x, y: tf.cond(
      y[0] < 1, lambda: 0.0 * tf.reduce_mean(x), lambda: 1.0
    ),
    0,
  ),
  function=(
    lambda x, y: tf.function(lambda x: tf.reduce_mean(x) * 0.0)(x),
    0,
  ),
  alone=(lambda x, y: tf.reduce_mean(x), np.nan),
  zero_of_a_client=(lambda x, y: tf.reduce_mean(x) * y[0], np.nan),
  not_all_zeros=(lambda x, y: tf.reduce_mean(x) * [0.0, 1.0], [np.nan] * 2),
)
# The number of elements is constant in these.
_WEIGHTED = ('weighted', 'deviation', 'ratio')


class EmptyFactorsTest(two_contexts.TestCase, parameterized.TestCase):
  @parameterized.parameters(
    *((case, 0, at_clients) for case in _CASES for at_clients in (True, False)),
    *((case, None, True) for case in _CASES if case not in _WEIGHTED),
  )
  def test_as_in_the_runtime_of_tff(self, case, size, at_clients):
    fn, expected = _CASES[case]
    local = tff.tensorflow.computation(
      fn,
      tff.TensorType(np.float32, [size]),
      tff.TensorType(np.float32, [3]),
    )
    args = [np.zeros(0, np.float32), np.zeros(3, np.float32)]
    if at_clients:
      comp = client_computations.at_clients(local)
      here, there = (run(comp, [args])[0] for run in (self.here, self.there))
    else:
      here, there = (run(local, *args) for run in (self.here, self.there))
    np.testing.assert_array_equal(here, expected)
    np.testing.assert_array_equal(there, expected)

  def test_a_client_that_diverged_remains_visible(self):
    comp = tff.tensorflow.computation(
      lambda x, y: (tf.reduce_mean(x) + tf.reduce_mean(y)) * 0.0,
      tff.TensorType(np.float32, [0]),
      tff.TensorType(np.float32, [1]),
    )
    x = np.zeros(0, np.float32)
    self.assertTrue(np.isnan(self.here(comp, x, np.float32([np.nan]))))
