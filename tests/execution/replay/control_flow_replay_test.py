# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for control_flow_replay: against TensorFlow's own run of the graph."""

from fedfish_tff.execution.replay import replayer
from tests.execution import graph_replays

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

_FLOAT = tf.TensorSpec([], tf.float32)
_INT = tf.TensorSpec([], tf.int32)
_ROWS = tf.TensorSpec([None, 3], tf.float32)


class ControlFlowTest(parameterized.TestCase):
  @parameterized.parameters(-1.0, 1.0)
  def test_branch(self, x):
    def build(x):
      y = tf.cond(x > 0, lambda: (x + 1, 'more'), lambda: (x * 2, 'less'))
      return y, tf.cond(x > 5, lambda: x, lambda: -x)

    graph_replays.ReplayedGraph(build, _FLOAT).assert_same(np.float32(x))

  @parameterized.parameters(-1, 0, 1, 2, 7)
  def test_case(self, index):
    graph = graph_replays.ReplayedGraph(
      lambda i, x: tf.switch_case(
        i, [lambda: x, lambda: x + 10, lambda: 3 * x], default=lambda: -x
      ),
      _INT,
      _FLOAT,
    )
    graph.assert_same(np.int32(index), np.float32(4))

  @parameterized.parameters(0, 1, 5)
  def test_loop(self, times):
    def build(times, x):
      return tf.while_loop(
        lambda i, *_: i < times,
        # The rows grow: a shape that the loop does not keep.
        lambda i, a, b: (i + 1, b, tf.concat([a, b], axis=0)),
        (0, x, x + 1),
        shape_invariants=(
          tf.TensorShape([]),
          tf.TensorShape([None, 3]),
          tf.TensorShape([None, 3]),
        ),
      )

    graph_replays.ReplayedGraph(build, _INT, _ROWS).assert_same(
      np.int32(times), np.ones([1, 3], np.float32)
    )

  def test_gradient_of_a_loop_over_lists(self):
    """Loops then hold lists of tensors, and loops of loops their shapes."""

    @tf.function
    def run(x, w):
      with tf.GradientTape() as tape:
        tape.watch(w)

        def step(h, row):
          return tf.tanh(tf.reduce_sum(row * w) + h)

        h = tf.scan(step, x, initializer=tf.constant(0.0))
        loss = tf.reduce_sum(h * h)
      return h, tape.gradient(loss, w)

    rng = np.random.default_rng(2)
    graph_replays.ReplayedGraph(
      run, _ROWS, tf.TensorSpec([3], tf.float32)
    ).assert_same(
      rng.normal(size=(5, 3)).astype(np.float32),
      rng.normal(size=3).astype(np.float32),
    )

  def test_autograph(self):
    @tf.function
    def collatz(n):
      steps = 0
      while n > 1:
        if tf.equal(n % 2, 0):
          n = n // 2
        else:
          n = 3 * n + 1
        steps += 1
        if steps > 50:
          break
      return steps

    graph = graph_replays.ReplayedGraph(collatz, _INT)
    self.assertEqual(graph.assert_same(np.int32(7)), [16])
    self.assertEqual(graph.assert_same(np.int32(27)), [51])

  def test_checks_in_the_graph(self):
    @tf.function
    def checked(x):
      tf.debugging.assert_less(x, 3.0, message='too large')
      if x < 0:
        tf.debugging.Assert(False, ['negative', x])
      return x + 1

    graph = graph_replays.ReplayedGraph(checked, _FLOAT)
    graph.assert_same(np.float32(2))
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'too large'):
      graph.replay(np.float32(4))
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'negative'):
      graph.replay(np.float32(-4))


class VariablesTest(parameterized.TestCase):
  @parameterized.parameters(-1.0, 1.0)
  def test_branches_hand_them_on(self, x):
    def build(x):
      a, b, c = (tf.Variable(v) for v in (1.0, 10.0, 100.0))

      @tf.function
      def run(x):
        if x > 0:
          a.assign(b + x)
          y = a + 1
        else:
          b.assign_add(c)
          y = x * c
        return y, a.read_value(), b.read_value(), c.read_value()

      return run(x)

    graph_replays.ReplayedGraph(build, _FLOAT).assert_same(np.float32(x))

  @parameterized.parameters(0, 2)
  def test_cases_hand_them_on(self, index):
    def build(i):
      a, b = tf.Variable(1.0), tf.Variable(10.0)

      def add():
        a.assign_add(b)

      def replace():
        b.assign(a * 7)

      @tf.function
      def run(i):
        tf.switch_case(i, [add, lambda: None, replace])
        return a.read_value(), b.read_value()

      return run(i)

    graph_replays.ReplayedGraph(build, _INT).assert_same(np.int32(index))

  @parameterized.parameters(0, 1, 4)
  def test_loops_hand_them_on(self, times):
    def build(times):
      a, b, unused = (tf.Variable(v) for v in (1.0, 2.0, 3.0))

      @tf.function
      def add():
        a.assign_add(b)

      @tf.function
      def run(times):
        seen = 0.0
        for i in tf.range(times):
          if tf.equal(i % 2, 0):
            add()
          else:
            b.assign(a * 2)
          for _ in tf.range(2):
            a.assign_sub(0.5)
          seen += a * unused
        return seen, a.read_value(), b.read_value()

      return run(times)

    graph_replays.ReplayedGraph(build, _INT).assert_same(np.int32(times))

  def test_a_condition_that_reads_them(self):
    def build(x):
      a = tf.Variable(0.0)

      @tf.function
      def run(x):
        while a < x:
          a.assign(2 * a + 1)
        return a.read_value()

      return run(x)

    graph = graph_replays.ReplayedGraph(build, _FLOAT)
    self.assertEqual(graph.assert_same(np.float32(20)), [31.0])

  def test_variables_that_are_assigned_by_other_names(self):
    def build(times):
      a = tf.Variable(1.0)

      @tf.function
      def run(times):
        for _ in tf.range(times):
          handle, x = tf.raw_ops.IdentityN(input=[a.handle, 2.0])
          tf.raw_ops.AssignAddVariableOp(resource=handle, value=x)
        return a.read_value()

      return run(times)

    with self.assertRaisesRegex(
      replayer.NotReplayableError, 'a loop or branch assigns'
    ):
      graph_replays.ReplayedGraph(build, _INT).replay(np.int32(3))
