# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""TFF's own operations on sequences at clients in the cohort context.

What programs of `fuzzing_test` do not reach, against plain Python, and against
TFF's own runtime where that has it.
"""

import collections

from tests.execution import two_contexts

import grpc
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_odict = collections.OrderedDict
_leaf = tff.tensorflow.computation
_BATCH = tff.TensorType(np.int32, [None])
_UNSORTED = _odict(b=np.int32, a=np.int32)

_NUMBERS = ([3, 1, 2], [], [4])
_BATCHES = ([[3, 1, 2], [5, 7, 1], [2]], [], [[4]])


def _at_clients(work, type_spec):
  work = tff.federated_computation(work, type_spec)
  return tff.federated_computation(
    lambda values: tff.federated_map(work, values),
    tff.FederatedType(type_spec, tff.CLIENTS),
  )


@_leaf(np.int32)
def _count_up(x):
  counter = tf.Variable(5)
  return tf.function(lambda: counter.assign_add(x))()


_double_batch = _leaf(lambda x: 2 * x, _BATCH)
_in_order = _leaf(lambda a, b: 10 * a + b, (np.int32, np.int32))

_TABLE = np.float32([1.5, 2.5, 4.0, 8.0])
_TABLE_TYPE = tff.TensorType(np.float32, [4])
_KEYS_TYPE = tff.TensorType(np.int32, [3])
_KEYS = [np.int32(k) for k in ([3, 0, 3], [1, 0, 2], [2, 2, 2])]


def _selection(take, work):
  """Returns a computation of the clients' keys and the server's table."""

  @tff.federated_computation(
    tff.FederatedType(_KEYS_TYPE, tff.CLIENTS),
    tff.FederatedType(_TABLE_TYPE, tff.SERVER),
  )
  def comp(keys, table):
    slices = tff.federated_select(
      keys,
      tff.federated_value(4, tff.SERVER),
      table,
      _leaf(take, _TABLE_TYPE, np.int32),
    )
    return tff.federated_map(_leaf(work, slices.type_signature.member), slices)

  return comp


class CohortSequencesTest(two_contexts.TestCase):
  def test_calls_of_a_function_have_variables_of_their_own(self):
    comp = _at_clients(
      lambda s: tff.sequence_reduce(
        tff.sequence_map(_count_up, s), 0, _in_order
      ),
      tff.SequenceType(np.int32),
    )
    for run in (self.here, self.there):
      self.assertEqual(run(comp, list(_NUMBERS)), [867, 0, 9])
    self.assertEmpty(self.cohort.runner.general_path_reasons)

  def test_names_that_only_the_function_gives(self):
    swap = _leaf(lambda e: _odict(d=e['a'], c=e['b']), _UNSORTED)
    join = _leaf(
      lambda s, e: 100 * s + 10 * e['d'] + e['c'],
      np.int32,
      _odict(d=np.int32, c=np.int32),
    )
    pair = tff.to_type((np.int32, np.int32))

    @tff.federated_computation(
      tff.FederatedType(tff.SequenceType(pair), tff.CLIENTS)
    )
    def comp(data):
      swapped = tff.sequence_map(swap, data)
      return tff.federated_map(
        tff.federated_computation(
          lambda s: tff.sequence_reduce(s, 0, join),
          swapped.type_signature.member,
        ),
        swapped,
      )

    self.assertEqual(self.here(comp, [[(1, 2), (3, 4)], []]), [2143, 0])
    self.assertEmpty(self.cohort.runner.general_path_reasons)

  def test_names_that_only_tensorflow_code_gives(self):
    """Parts are then taken by their places, as where they have names."""
    add = _leaf(
      lambda data: data.reduce(0, lambda s, e: 100 * s + 10 * e['b'] + e['a']),
      tff.SequenceType(_UNSORTED),
    )
    pair = tff.to_type((np.int32, np.int32))

    @tff.federated_computation(
      tff.FederatedType(tff.SequenceType(pair), tff.CLIENTS)
    )
    def comp(data):
      return tff.federated_map(add, data)

    self.assertEqual(self.here(comp, [[(1, 2), (3, 4)], []]), [1234, 0])
    (reason,) = self.cohort.runner.general_path_reasons
    self.assertIn('have no names', reason)

  def test_select_by_a_function_that_draws(self):
    """All clients get the same slice of a key."""
    comp = _selection(
      lambda table, key: tf.random.uniform([]),
      lambda slices: slices.batch(3, drop_remainder=True).get_single_element(),
    )
    for run in (self.here, self.there):
      first, second, third = run(comp, _KEYS, _TABLE)
      self.assertEqual(first[0], first[2])
      self.assertEqual(first[1], second[1])
      self.assertEqual(third[0], second[2])
      self.assertNotEqual(first[0], first[1])
    (reason,) = self.cohort.runner.general_path_reasons
    self.assertIn('random numbers', reason)

  def test_reductions_of_a_mapped_sequence_draw_anew(self):
    draw = _leaf(lambda _: tf.random.uniform([]), np.int32)
    last = _leaf(lambda _, x: x, (np.float32, np.float32))

    def work(data):
      drawn = tff.sequence_map(draw, data)
      return [tff.sequence_reduce(drawn, 0.0, last) for _ in range(2)]

    comp = _at_clients(work, tff.SequenceType(np.int32))
    for run in (self.here, self.there):
      ((first, second),) = run(comp, [[1, 2]])
      self.assertNotEqual(first, second)
    self.assertEmpty(self.cohort.runner.general_path_reasons)

  def test_errors_in_what_nobody_reads(self):
    """As in TFF's runtime, or on the general path where that has nothing."""
    divide = _leaf(lambda x: 10 // (x - 2), np.int32)
    count = _leaf(lambda n, _: n + 1, (np.int32, np.int32))
    first = _leaf(
      lambda data: data.take(1).reduce(0, lambda a, b: a + b),
      tff.SequenceType(np.int32),
    )
    sequence = tff.SequenceType(np.int32)
    reduced = _at_clients(
      lambda s: tff.sequence_reduce(tff.sequence_map(divide, s), 0, count),
      sequence,
    )
    taken = _at_clients(lambda s: first(tff.sequence_map(divide, s)), sequence)
    selected = _selection(
      lambda table, key: 10 // (key - 2),
      lambda slices: slices.take(1).reduce(0, lambda a, b: a + b),
    )
    numbers = [[1], [3, 2]]
    for run, comp, args in (
      (self.here, reduced, [numbers]),
      (self.there, reduced, [numbers]),
      (self.here, taken, [numbers]),
      (self.here, selected, [_KEYS[:2], _TABLE]),
      (self.there, selected, [_KEYS[:2], _TABLE]),
    ):
      with self.assertRaisesRegex(grpc.RpcError, 'division by zero'):
        run(comp, *args)
    self.assertEqual(self.here(reduced, [[1, 3]]), [2])
    self.assertEqual(self.here(taken, [[1, 3]]), [-10])
    self.assertEmpty(self.cohort.runner.general_path_reasons)

  def test_sequences_that_leave_the_clients(self):
    comp = _at_clients(
      lambda s: tff.sequence_map(_double_batch, s), tff.SequenceType(_BATCH)
    )
    results = self.here(comp, list(_BATCHES))
    for result, batches in zip(results, _BATCHES, strict=True):
      self.assertEqual(
        [b.tolist() for b in result.as_numpy_iterator()],
        [[2 * n for n in b] for b in batches],
      )
    (reason,) = self.cohort.runner.general_path_reasons
    self.assertIn('sequence of type int32[?]*', reason)
