# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for variable_replay: against TensorFlow's own kernels."""

from fedfish_tff.execution.replay import variable_replay
from tests import tolerance
from tests.execution import graph_replays

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

_TABLE = np.arange(12, dtype=np.float32).reshape(4, 3)
_ROWS = tf.TensorSpec([None, 3], tf.float32)
_FLOAT = tf.TensorSpec([], tf.float32)


def _check(build, *specs_and_values):
  """Checks a graph's results; fused kernels may round otherwise."""
  graph = graph_replays.ReplayedGraph(
    build, *(spec for spec, _ in specs_and_values)
  )
  values = [value for _, value in specs_and_values]
  found = graph.replay(*values, handlers=variable_replay.HANDLERS)
  expected = graph.run_in_session(*values)
  for a, b in zip(found, expected, strict=True):
    tolerance.assert_close(a, b, relative=tolerance.FLOAT32_SUMS)


class VariableOperationsTest(parameterized.TestCase):
  @parameterized.parameters(
    dict(learning_rate=0.5),
    dict(learning_rate=0.5, momentum=0.9),
    dict(learning_rate=0.5, momentum=0.9, nesterov=True),
  )
  def test_keras_sgd(self, **options):
    def build(rows):
      table = tf.Variable(_TABLE)
      optimizer = tf.keras.optimizers.legacy.SGD(**options)

      @tf.function
      def run(rows):
        for _ in tf.range(3):
          with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(table - rows))
          gradient = tape.gradient(loss, table)
          optimizer.apply_gradients([(gradient, table)])
        return loss, table.read_value()

      return run(rows)

    _check(build, (_ROWS, np.ones([4, 3], np.float32)))

  @parameterized.parameters('scatter_add', 'scatter_sub', 'scatter_update')
  def test_scatter(self, name):
    def build(rows):
      table = tf.Variable(_TABLE)

      @tf.function
      def run(rows):
        for _ in tf.range(2):
          # Row 3 twice, with the same values: an update's order is not known.
          getattr(table, name)(tf.IndexedSlices(rows, [3, 1, 3]))
        return table.read_value()

      return run(rows)

    rows = np.array([[1, 2, 3], [4, 5, 6], [1, 2, 3]], np.float32)
    _check(build, (_ROWS, rows))

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
