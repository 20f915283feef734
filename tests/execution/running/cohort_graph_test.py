# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for cohort_graph."""

from fedfish_tff.execution.replay import tracing
from fedfish_tff.execution.running import cohort_graph
from tests.execution import single_stages

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_CLIENT_INTS = tff.FederatedType(np.int32, tff.CLIENTS)


class StageGraphTest(parameterized.TestCase):
  def test_values_of_unknown_shape(self):
    vector = tff.TensorType(np.int32, [None])
    double = tff.tensorflow.computation(lambda x: 2 * x, vector)
    repeat = tff.tensorflow.computation(lambda x: tf.fill([x], x), np.int32)

    @tff.federated_computation(tff.FederatedType(vector, tff.CLIENTS))
    def takes(x):
      return tff.federated_map(double, x)

    @tff.federated_computation(_CLIENT_INTS)
    def returns(x):
      return tff.federated_map(repeat, x)

    for comp, reason in (
      (takes, r'value at the clients of unknown shape, int32\[\?\]'),
      (returns, r'result of the clients of unknown shape, \(None,\)'),
    ):
      with self.assertRaisesRegex(tracing.NotReplayableError, reason):
        cohort_graph.StageGraph(single_stages.stage_of(comp), parallelism=1)
