# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of sequences as arrays, their intrinsics and loops over them."""

import collections
import dataclasses

from fedfish_tff.execution.packing import sequence_packing
from fedfish_tff.execution.replay import loop_steps
from fedfish_tff.execution.replay import replayer
from fedfish_tff.execution.replay import sequence_arrays
from fedfish_tff.execution.replay import sequence_intrinsics
from fedfish_tff.execution.replay import sequence_replay

from absl.testing import absltest
import hypothesis
from hypothesis import strategies as st
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_ELEMENT_TYPE = tff.to_type(
  (tff.TensorType(np.float32, [None, 2]), tff.TensorType(np.int32, [None]))
)


def _cohort(sizes_of_clients):
  """Returns each client's batches, and the same packed."""
  clients = []
  next_number = 0
  for sizes in sizes_of_clients:
    elements = []
    for size in sizes:
      y = np.arange(next_number, next_number + size, dtype=np.int32)
      next_number += size
      elements.append((np.stack([y, -y], axis=1).astype(np.float32), y))
    clients.append(elements)
  return clients, [
    sequence_packing.pack_sequence(c, _ELEMENT_TYPE) for c in clients
  ]


def _tensors(nest):
  return tf.nest.map_structure(tf.constant, nest)


class ToGraphArraysTest(absltest.TestCase):
  def test_static_shapes(self):
    _, packed = _cohort([[4, 4, 3], [4, 1]])
    form, arrays = sequence_arrays.to_graph_arrays(packed, use_xla=True)
    self.assertEqual(form.bounds, (4,))
    for leaf in arrays['leaves']:
      self.assertLen(leaf, 16)

  def test_without_static_shapes_sizes_do_not_count(self):
    forms = {
      sequence_arrays.to_graph_arrays(_cohort(sizes)[1])[0]
      for sizes in ([[4, 3]], [[5], [1, 1]], [[]])
    }
    self.assertLen(forms, 1)


class ClientSequenceTest(absltest.TestCase):
  @hypothesis.settings(max_examples=25, deadline=None)
  @hypothesis.given(
    sizes=st.lists(
      st.lists(st.integers(0, 5), max_size=4), min_size=1, max_size=4
    ),
    use_xla=st.booleans(),
  )
  @pytest.mark.thorough
  def test_gives_the_elements_of_each_client(self, sizes, use_xla):
    clients, packed = _cohort(sizes)
    form, arrays = sequence_arrays.to_graph_arrays(packed, use_xla=use_xla)
    for number, elements in enumerate(clients):
      sequence = sequence_arrays.client_sequence(
        form, _tensors(arrays), _ELEMENT_TYPE, tf.constant(number)
      )
      self.assertEqual(sequence.count.numpy(), len(elements))
      for i, expected in enumerate(elements):
        element = tf.function(sequence.element, jit_compile=use_xla)
        for leaf, found in zip(
          expected, element(tf.constant(i, tf.int64)), strict=True
        ):
          np.testing.assert_array_equal(found, leaf)


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


def _calls(concrete):
  """Returns the calls of functions in a traced function."""
  return [
    node
    for node in concrete.graph.as_graph_def().node
    if node.op in ('PartitionedCall', 'StatefulPartitionedCall')
  ]


class CallStepTest(tf.test.TestCase):
  def test_plain_steps_run_on_one_thread(self):
    plain = tf.function(
      lambda x: loop_steps.call_step(lambda x: x * 2 + 1, x), autograph=False
    ).get_concrete_function(tf.TensorSpec([]))
    (call,) = _calls(plain)
    self.assertEqual(call.attr['executor_type'].s, b'SINGLE_THREADED_EXECUTOR')
    function = plain.graph._get_function(call.attr['f'].func.name)
    # Otherwise it would be taken apart into the loop that calls it.
    self.assertTrue(function.cached_definition.attr['_noinline'].b)

  def test_steps_with_branches_do_not(self):
    def step(x):
      return tf.cond(x > 0, lambda: x, lambda: -x)

    branching = tf.function(
      lambda x: loop_steps.call_step(step, x), autograph=False
    ).get_concrete_function(tf.TensorSpec([]))
    (call,) = _calls(branching)
    self.assertEqual(call.attr['executor_type'].s, b'')
    self.assertEqual(branching(tf.constant(-2.0)), 2.0)

  def test_loops_within_a_step_have_no_functions_but_those_over_batches(self):
    def count_calls(operation, **arguments):
      def inner(x):
        call = loop_steps.caller_of(
          {operation: 100}, use_xla=False, **arguments
        )
        return call(lambda x: x * 2, x)

      outer = tf.function(
        lambda x: (loop_steps.call_step(inner, x), inner(x)), autograph=False
      ).get_concrete_function(tf.TensorSpec([]))
      step, *_ = _calls(outer)
      within = outer.graph._get_function(step.attr['f'].func.name)
      return (
        len(_calls(outer)) - 1,
        sum('Call' in n.op for n in within.cached_definition.node_def),
      )

    # Outside of a step, within it.
    self.assertEqual(count_calls('MatMul', over_batches=False), (1, 0))
    self.assertEqual(count_calls('MatMul'), (1, 1))
    # Its kernel is chosen in order.
    self.assertEqual(count_calls('MaxPoolGrad', over_batches=False), (1, 1))

  def test_random_steps_differ(self):
    @tf.function(autograph=False)
    def run():
      return [
        loop_steps.call_step(lambda: tf.random.uniform([])) for _ in range(2)
      ]

    # With a global seed, which another test of the process may have set,
    # operations of equal graphs draw alike.
    tf.random.set_seed(None)
    first, second = run()
    self.assertNotEqual(first, second)
