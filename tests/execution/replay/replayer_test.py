# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for replayer, against TensorFlow's own run and what it refuses."""

from unittest import mock

from fedfish_tff.execution.reading import serialized_graph
from fedfish_tff.execution.replay import control_flow_replay
from fedfish_tff.execution.replay import failures
from fedfish_tff.execution.replay import replayer
from tests import tolerance
from tests.execution import graph_replays

from absl import logging
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

_FLOAT = tf.TensorSpec([], tf.float32)
_INT = tf.TensorSpec([], tf.int32)
_ROWS = tf.TensorSpec([None, 3], tf.float32)
_TABLE = np.arange(12, dtype=np.float32).reshape(4, 3)


def _check(build, *specs_and_values):
  """Checks a graph's results; fused kernels may round otherwise."""
  graph = graph_replays.ReplayedGraph(
    build, *(spec for spec, _ in specs_and_values)
  )
  values = [value for _, value in specs_and_values]
  found = graph.replay(
    *values,
  )
  expected = graph.run_in_session(*values)
  for a, b in zip(found, expected, strict=True):
    tolerance.assert_close(a, b, relative=tolerance.FLOAT32_SUMS)


class ReplayTest(parameterized.TestCase):
  def test_kernels_with_state(self):
    def build(x):
      quantized = tf.quantization.quantize(x, 0.0, 1.0, tf.quint8)
      filters = tf.quantization.quantize(x, 0.0, 1.0, tf.qint8)
      return tf.raw_ops.QuantizedConv2D(
        input=quantized.output,
        filter=filters.output,
        min_input=0.0,
        max_input=1.0,
        min_filter=0.0,
        max_filter=1.0,
        strides=[1, 1, 1, 1],
        padding='SAME',
      ).output

    graph = graph_replays.ReplayedGraph(
      build, tf.TensorSpec([1, 1, 1, 1], tf.float32)
    )
    with self.assertRaisesRegex(
      replayer.NotReplayableError, 'QuantizedConv2D, whose kernel'
    ):
      graph.replay(np.ones([1, 1, 1, 1], np.float32))

  def test_random_operations_with_state_are_warned_of_once(self):
    def build(seed):
      return (
        tf.random.gamma([2], alpha=2.0),
        tf.random.gamma([2], alpha=3.0),
        tf.random.stateless_uniform([2], [1, seed]),
      )

    graph = graph_replays.ReplayedGraph(build, _INT)
    # What another test was warned of before.
    replayer._warn_of_randomness.cache_clear()
    with mock.patch.object(logging, 'warning', autospec=True) as warning:
      graph.replay(np.int32(1))
      graph.replay(np.int32(2))
    warning.assert_called_once()
    message, operation = warning.call_args.args
    self.assertIn('results are not repeatable', message)
    self.assertEqual(operation, 'RandomGamma')


class VariablesTest(parameterized.TestCase):
  def test_those_of_unknown_shape(self):
    def build(x):
      a = tf.Variable(
        tf.zeros([0, 3]), shape=tf.TensorShape([None, 3]), validate_shape=False
      )

      @tf.function
      def run(x):
        for _ in tf.range(3):
          a.assign(tf.concat([a, x], axis=0))
        return a.read_value()

      return run(x)

    graph_replays.ReplayedGraph(build, _ROWS).assert_same(
      np.ones([2, 3], np.float32)
    )

  def test_scatter_of_one_number(self):
    def build(x):
      table = tf.Variable(_TABLE)

      @tf.function
      def run(x):
        tf.raw_ops.ResourceScatterAdd(
          resource=table.handle, indices=[[0], [2]], updates=x
        )
        return table.read_value()

      return run(x)

    _check(build, (_FLOAT, np.float32(0.5)))

  @parameterized.parameters(tf.int32, tf.int64)
  def test_shape(self, dtype):
    def build(x):
      table = tf.Variable(_TABLE)
      shape = tf.raw_ops.VariableShape(input=table.handle, out_type=dtype)
      return shape, tf.fill(shape, x)

    _check(build, (_FLOAT, np.float32(0.5)))


class NotReplayableTest(parameterized.TestCase):
  def _assert_not_replayable(self, reason, build, *specs_and_values):
    graph = graph_replays.ReplayedGraph(
      build, *(spec for spec, _ in specs_and_values)
    )
    with self.assertRaisesRegex(replayer.NotReplayableError, reason):
      graph.replay(*(value for _, value in specs_and_values))

  def test_variables_without_a_value(self):
    def build():
      handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], name='empty')
      return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)

    self._assert_not_replayable('empty is read before it has a value', build)

  def test_placeholders_without_a_value(self):
    self._assert_not_replayable(
      'placeholder more, which has no value',
      lambda x: x + tf.compat.v1.placeholder(tf.float32, [], name='more'),
      (_FLOAT, np.float32(1)),
    )

  def test_other_state(self):
    def build():
      initializer = tf.lookup.KeyValueTensorInitializer(['a'], [1])
      table = tf.lookup.StaticHashTable(initializer, 0)
      return table.lookup(tf.constant('a'))

    self._assert_not_replayable('HashTableV2, which holds state', build)

  def test_datasets_without_handlers(self):
    def build():
      return tf.data.Dataset.range(3).reduce(
        tf.constant(0, tf.int64), lambda a, b: a + b
      )

    self._assert_not_replayable('ReduceDataset', build)

  def test_operations_that_call_functions(self):
    def build(x):
      dataset = tf.data.Dataset.range(3).map(lambda i: i + 1)
      return tf.data.experimental.to_variant(dataset), x

    self._assert_not_replayable(
      'MapDataset, which calls a function', build, (_FLOAT, np.float32(1))
    )

  def test_loops_and_branches_of_tensorflow_1(self):
    def build(x):
      with tf.compat.v1.variable_scope('', use_resource=True):
        tf.compat.v1.disable_control_flow_v2()
        try:
          return tf.compat.v1.cond(x > 0, lambda: x + 1, lambda: x - 1)
        finally:
          tf.compat.v1.enable_control_flow_v2()

    self._assert_not_replayable(
      'loop or branch of TensorFlow 1', build, (_FLOAT, np.float32(1))
    )

  def test_initialisation_by_other_operations(self):
    graph = tf.Graph()
    with graph.as_default():
      x = tf.constant(1.0, name='x')
      tf.raw_ops.Print(input=x, data=[x], name='init')
    replay = replayer.Replay(
      replayer.serialized_graph.SerializedGraph(graph.as_graph_def())
    )
    with self.assertRaisesRegex(
      replayer.NotReplayableError, 'initialisation by Print'
    ):
      replay.run({}, ['x:0'], initialize_op='init')


def _in_loop(x):
  return tf.while_loop(
    lambda i, _: i < 3,
    lambda i, total: (i + 1, total + tf.gather(_TABLE, x)[0]),
    [0, tf.zeros([3])],
  )


def _in_branch(x):
  return tf.cond(
    x[0] > 1, lambda: tf.gather(_TABLE, x)[0], lambda: tf.zeros([3])
  )


def _assert_positive(x):
  with tf.control_dependencies([tf.debugging.Assert(x[0] > 0, [x])]):
    return tf.identity(x)


class FailuresTest(parameterized.TestCase):
  @parameterized.parameters(
    (lambda x: tf.gather(_TABLE, x), 3, (4, -1)),
    (lambda x: tf.gather(_TABLE, x, axis=1), 2, (3,)),
    (lambda x: tf.gather_nd(_TABLE, [[x[0], 2]]), 3, (4, -1)),
    (_in_loop, 3, (4,)),
    (_in_branch, 1, (4,)),
    (lambda x: tf.scatter_nd([x], [1.0], [4]), 3, (4, -1)),
    (lambda x: tf.tensor_scatter_nd_add(tf.zeros([4]), [x], [1.0]), 3, (4,)),
    (lambda x: tf.math.unsorted_segment_sum([1.0], x, 4), 3, (4,)),
    (
      lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(x, _TABLE[:1]),
      2,
      (),
    ),
    (lambda x: tf.linalg.band_part(_TABLE, x[0], -1), 4, (5,)),
    (lambda x: tf.linalg.band_part(_TABLE, -1, x[0]), 3, (4,)),
    (lambda x: 7 // x, 2, (0,)),
    (lambda x: 7 % x, 2, (0,)),
    (lambda x: tf.pow(2, x), 2, (-1,)),
    # For a constant, XLA would refuse these itself.
    (lambda x: tf.slice(_TABLE, [x[0], 0], [2, 3]), 2, (3, -1), False),
    (lambda x: tf.constant(_TABLE)[x[0]], -4, (4, -5), False),
    (lambda x: tf.constant(_TABLE)[..., x[0]], 2, (3,), False),
    (lambda x: tf.constant(_TABLE)[x[0] :], 9, (), False),
    (_assert_positive, 1, (0,)),
    (
      lambda x: tf.debugging.check_numerics(1 / tf.cast(x, tf.float32), ''),
      1,
      (0,),
    ),
  )
  def test_notes_what_fails(self, build, right, wrong, jit_compile=True):
    graph = tf.Graph()
    with graph.as_default():
      x = tf.compat.v1.placeholder(tf.int32, [1])
      # An output, so that nothing of it is pruned.
      results = [tf.identity(r) for r in tf.nest.flatten(build(x))]
    serialized = serialized_graph.SerializedGraph(graph.as_graph_def())

    @tf.function(autograph=False, jit_compile=jit_compile)
    def note(value):
      replay = replayer.Replay(
        serialized,
        {**control_flow_replay.HANDLERS, **failures.HANDLERS},
        use_xla=True,
      )
      replay.run({x.name: value}, [r.name for r in results])
      return replay.value_of(replayer.FAILED)

    self.assertFalse(note(tf.constant([right])))
    for value in wrong:
      self.assertTrue(note(tf.constant([value])), value)
    with tf.compat.v1.Session(graph=graph) as session:
      session.run(results, {x: [right]})
      for value in wrong:
        with self.assertRaises(tf.errors.InvalidArgumentError):
          session.run(results, {x: [value]})
