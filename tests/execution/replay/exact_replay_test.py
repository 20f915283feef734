# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for exact_replay: compiled by XLA, against TensorFlow's own kernels."""

from fedfish_tff.execution.replay import exact_replay
from fedfish_tff.execution.replay import replayer
from tests.execution import graph_replays

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

_ROWS = tf.TensorSpec([None, 2], tf.float32)


def _unknown(x):
  """Returns rows whose number TensorFlow does not know."""
  return [tf.raw_ops.PlaceholderWithDefault(input=x, shape=[None, 2])]


def _gradient(function, x):
  return tf.gradients(function(x), x)[0]


class ExactReplayTest(parameterized.TestCase):
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

  @parameterized.parameters(
    (lambda x: x[-1], 'from the end'),
    (lambda x: x[tf.newaxis, ..., -2:, 0], 'from the end'),
    (
      lambda x: _gradient(lambda x: tf.concat([x, x * x], 0), x),
      'ConcatOffset of parts of unknown size',
    ),
    (
      lambda x: tf.linalg.trace(x @ tf.transpose(x)),
      'DiagPartV3 along an axis',
    ),
    (lambda x: tf.linalg.set_diag(x, [0.0]), 'SetDiagV3 along an axis'),
    (lambda x: tf.reverse_sequence(x, [1, 1], 0, 1), 'ReverseSequence along'),
  )
  def test_places_that_depend_on_the_number_of_rows(self, build, message):
    graph = graph_replays.ReplayedGraph(build, _ROWS)
    with self.assertRaisesRegex(replayer.NotReplayableError, message):
      graph.replay(
        np.zeros([3, 2], np.float32),
        handlers=exact_replay.HANDLERS,
        feeds=_unknown,
      )

  @parameterized.parameters(
    (lambda x: x[1:-1, -1],),
    (lambda x: x[tf.newaxis, ..., -1],),
    (lambda x: _gradient(lambda x: tf.concat([x, x * x], -1), x),),
    (lambda x: tf.linalg.diag_part(x[:, tf.newaxis] * x[..., tf.newaxis]),),
    (lambda x: tf.reverse_sequence(x, [2, 1, 2], 1, 0),),
    (
      lambda x: tf.batch_to_space(
        tf.space_to_batch(x[..., tf.newaxis], [2], [[1, 1]]), [2], [[1, 0]]
      ),
    ),
    (lambda x: _gradient(lambda x: tf.concat([tf.ones([1, 2]), x], 0), x),),
  )
  def test_places_that_do_not(self, build):
    graph = graph_replays.ReplayedGraph(build, _ROWS)
    values = np.arange(6, dtype=np.float32).reshape(3, 2)
    graph.assert_same(values, handlers=exact_replay.HANDLERS, feeds=_unknown)
