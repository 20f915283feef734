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
