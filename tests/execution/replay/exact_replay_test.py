# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for exact_replay: compiled by XLA, against TensorFlow's own kernels."""

from fedfish_tff.execution.replay import exact_replay
from tests.execution import graph_replays

from absl.testing import absltest
import numpy as np
import tensorflow as tf


def _gradient(function, x):
  return tf.gradients(function(x), x)[0]


class ExactReplayTest(absltest.TestCase):
  def test_values_at_kinks(self):
    def build(x):
      return [
        _gradient(lambda x: tf.sqrt(x) * 0, x),
        _gradient(lambda x: tf.math.rsqrt(x) * 0, x),
        _gradient(tf.nn.selu, x),
        *tf.math.top_k(tf.concat([x, -x], 1), 3),
      ]

    graph = graph_replays.ReplayedGraph(build, tf.TensorSpec([3, 2]))
    values = np.float32([[0, 0], [-0.0, 0], [1, 2]])
    expected = graph.run_in_session(values)
    found = graph.replay(values, handlers=exact_replay.HANDLERS, use_xla=True)
    for a, b in zip(found, expected, strict=True):
      np.testing.assert_allclose(a, b, rtol=1e-5)
