# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for failures: a graph notes what TensorFlow's own kernels refuse."""

from fedfish_tff.execution.reading import serialized_graph
from fedfish_tff.execution.replay import control_flow_replay
from fedfish_tff.execution.replay import failures
from fedfish_tff.execution.replay import replayer

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

_TABLE = np.arange(12, dtype=np.float32).reshape(4, 3)


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
