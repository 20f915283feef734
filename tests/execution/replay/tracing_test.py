# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for tracing."""

import threading

from fedfish_tff.execution import interruption
from fedfish_tff.execution.replay import sequence_replay
from fedfish_tff.execution.replay import tracing
from tests.execution import interrupts

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_SEQUENCE = tff.SequenceType(np.int32)


def _proto(comp):
  return tff.framework.serialize_computation(comp)


class ReplayerTest(parameterized.TestCase):
  @parameterized.parameters(False, True)
  def test_datasets_as_results(self, is_drawn):
    comp = tff.tensorflow.computation(lambda data: data.take(1), _SEQUENCE)
    with tf.Graph().as_default():
      sequence = sequence_replay.Sequence(
        tf.constant(2, tf.int64), lambda i: [i], is_drawn=is_drawn
      )
      arguments = _proto(comp), comp.type_signature, sequence
      if is_drawn:
        with self.assertRaisesRegex(
          tracing.NotReplayableError, 'returns a dataset'
        ):
          tracing.GraphTracer().run(*arguments)
      else:
        result = tracing.GraphTracer().run(*arguments)
        self.assertEqual(result.part_order, (0,))


class TraceTest(absltest.TestCase):
  def test_nests_of_tensors_and_arrays(self):
    call = tracing.trace(
      lambda pair, rest: {'sum': pair[0] + pair[1], 'rest': [rest, ()]},
      [
        (tf.TensorSpec([None], tf.float32), tf.TensorSpec([], tf.float32)),
        tf.TensorSpec([], tf.string),
      ],
    )
    for length in (0, 3):
      result = call(
        (np.arange(length, dtype=np.float32), tf.constant(1.0)),
        tf.constant('x'),
      )
      np.testing.assert_array_equal(result['sum'], np.arange(length) + 1)
      self.assertEqual(result['rest'], [b'x', ()])

  def test_errors_in_tracing(self):
    for function in (
      lambda x: tf.reshape(x, [3]),
      lambda x: x.no_such_attribute,
      lambda x: tf.raw_ops.Bitcast(input=x, type='no_such_type'),
    ):
      with self.assertRaisesRegex(
        tracing.NotReplayableError, 'an error in tracing it'
      ):
        tracing.trace(function, [tf.TensorSpec([2], tf.float32)])

  def test_zero_times_what_is_no_number(self):
    def add_nothing(x):
      (total,) = tf.while_loop(
        lambda total: total < 3.0,
        lambda total: [total + 1.0 + 0.0 * x],
        [0.0 * x],
      )
      return total

    call = tracing.trace(add_nothing, [tf.TensorSpec([], tf.float32)])
    for x, expected in ((2.0, 3.0), (np.nan, np.nan), (np.inf, np.nan)):
      np.testing.assert_equal(
        call(tf.constant(x)).numpy(), np.float32(expected)
      )

  def test_calls_can_be_interrupted(self):
    begun = threading.Event()

    def step(i):
      begun.set()
      return np.int32((i + 1) % 7)

    call = tracing.trace(
      lambda x: tf.while_loop(
        lambda i: i >= 0,
        lambda i: tf.ensure_shape(tf.numpy_function(step, [i], tf.int32), []),
        [x],
      ),
      [tf.TensorSpec([], tf.int32)],
    )
    errors = []

    def work():
      try:
        call(tf.constant(0))
      except tf.errors.OpError as error:
        errors.append(error)
        raise

    with (
      interrupts.interrupted_after(begun),
      self.assertRaises(KeyboardInterrupt),
    ):
      interruption.run(work)
    interrupts.join_work()
    (error,) = errors
    self.assertIsInstance(error, tf.errors.CancelledError)
