# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for cohort_graph."""

from fedfish_tff.execution.replay import tracing
from fedfish_tff.execution.running import cohort_graph
from tests.execution import client_computations
from tests.execution import single_stages

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


class StageGraphTest(parameterized.TestCase):
  def test_values_of_unknown_shape(self):
    takes = client_computations.at_clients(
      lambda x: 2 * x, tff.TensorType(np.int32, [None])
    )
    returns = client_computations.at_clients(
      lambda x: tf.fill([x], x), np.int32
    )
    for comp, reason in (
      (takes, r'value at the clients of unknown shape, int32\[\?\]'),
      (returns, r'result of the clients of unknown shape, \(None,\)'),
    ):
      with self.assertRaisesRegex(tracing.NotReplayableError, reason):
        cohort_graph.StageGraph(single_stages.stage_of(comp), parallelism=1)
