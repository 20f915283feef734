# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for control_flow_replay: against TensorFlow's own run of the graph."""

from fedfish_tff.execution.replay import replayer
from tests.execution import graph_replays

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

_INT = tf.TensorSpec([], tf.int32)


class VariablesTest(parameterized.TestCase):
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
