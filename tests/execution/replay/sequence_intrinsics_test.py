# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for sequence_intrinsics; cohort_sequences_test has whole programs."""

import collections
import dataclasses

from fedfish_tff.execution.replay import replayer
from fedfish_tff.execution.replay import sequence_intrinsics
from fedfish_tff.execution.replay import sequence_replay

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# In tf.data's order: a, then b.
_PAIR = tff.StructType(
  [('b', np.int32), ('a', tff.TensorType(np.int32, [None]))]
)
_NOTHING = collections.Counter()


def _numbers(count):
  return sequence_replay.Sequence(
    tf.constant(count, tf.int64),
    lambda i: [tf.cast(i, tf.int32)],
    part_order=(0,),
  )


def _pairs(number):
  """Returns the number and that many threes."""
  return number, tf.fill([number], 3)


def _map(sequence, fn, element_type, result_type):
  return sequence_intrinsics.map_elements(
    sequence,
    fn,
    element_type=tff.to_type(element_type),
    result_type=tff.to_type(result_type),
    operations=_NOTHING,
    use_xla=False,
  )


class SequenceIntrinsicsTest(absltest.TestCase):
  def test_computed_elements(self):
    """Draws of several shapes; the same in every reading."""

    @tf.function(autograph=False)
    def run(count):
      drawn = _map(
        _numbers(count),
        lambda n: (n, tf.random.uniform([n], maxval=2**30, dtype=tf.int32)),
        np.int32,
        _PAIR,
      )
      element = drawn.computed.element
      self.assertIs(drawn.computed, drawn.computed)
      places = [tf.constant(i, tf.int64) for i in (0, 3, 2, 3)]
      return drawn.computed.count, [element(i)[0] for i in places]

    count, (nothing, third, second, again) = run(4)
    self.assertEqual((count, nothing.shape, second.shape), (4, [0], [2]))
    np.testing.assert_array_equal(third, again)
    self.assertLen(set(third.numpy()), 3)

  def test_xla_does_not_keep_computed_elements(self):
    pairs = dataclasses.replace(
      _map(_numbers(4), _pairs, np.int32, _PAIR), use_xla=True
    )
    with self.assertRaisesRegex(replayer.NotReplayableError, 'TensorFlow code'):
      _ = pairs.computed
