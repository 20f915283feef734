# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for values."""

import collections
from typing import NamedTuple

from fedfish_tff.datasets import batches
from fedfish_tff.execution import contexts
from fedfish_tff.execution.packing import local_values
from fedfish_tff.execution.reading import tensorflow_functions

from absl.testing import absltest
from absl.testing import parameterized
import attrs
import hypothesis
from hypothesis import strategies as st
from hypothesis.extra import numpy as np_st
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_INT = tff.TensorType(np.int32)
_VECTOR = tff.TensorType(np.float32, [None])
_WORDS = tff.TensorType(np.str_, [None])
_CLIENT_INTS = tff.FederatedType(np.int32, tff.CLIENTS)
_PAIR = tff.types.to_type(collections.OrderedDict(b=np.int32, a=np.int32))


class _Point(NamedTuple):
  y: int
  x: int


@attrs.define
class _Interval:
  start: int
  end: int


def _struct(*names):
  return tff.structure.Struct((name, i) for i, name in enumerate(names))


class TensorArgumentTest(parameterized.TestCase):
  @hypothesis.given(
    np_st.arrays(
      st.sampled_from([
        np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16,
        np.uint32, np.uint64, np.float16, np.float32, np.float64, np.complex64,
        np.complex128,
      ]),
      np_st.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
    )
  )  # fmt: skip
  def test_there_and_back(self, array):
    shape = [None, *array.shape[1:]] if array.ndim else []
    type_spec = tff.TensorType(array.dtype.type, shape)
    for argument in (array, tf.constant(array), tf.Variable(array)):
      value = local_values.to_local_value(argument, type_spec)
      self.assertIsInstance(value, tf.Tensor)
      self.assertEqual(value.dtype, array.dtype)
      result = local_values.from_local_value(value, type_spec)
      np.testing.assert_array_equal(result, array, strict=True)
      self.assertIsInstance(result, np.ndarray if array.ndim else np.generic)

  def test_arguments_are_copied_and_results_cannot_be_written(self):
    array = np.ones([3], np.float32)
    value = local_values.to_local_value(array, _VECTOR)
    array[:] = 5
    result = local_values.from_local_value(value, _VECTOR)
    np.testing.assert_array_equal(result, np.ones([3]))
    with self.assertRaisesRegex(ValueError, 'read-only'):
      result[0] = 2

  def test_a_result_is_an_argument_without_a_copy(self):
    result = local_values.from_local_value(tf.ones([3]), _VECTOR)
    again = local_values.from_local_value(
      local_values.to_local_value(result, _VECTOR), _VECTOR
    )
    self.assertTrue(np.shares_memory(result, again))

  def test_a_view_of_an_array_that_changes_is_copied(self):
    array = np.ones([3], np.float32)
    view = array[:]
    view.flags.writeable = False
    value = local_values.to_local_value(view, _VECTOR)
    array[:] = 5
    np.testing.assert_array_equal(value, np.ones([3]))

  def test_values_that_are_none(self):
    with self.assertRaisesRegex(NotImplementedError, 'Unexpected `value`'):
      local_values.to_local_value(object(), _INT)


class StructureTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('dictionary', collections.OrderedDict(b=1, a=2)),
    ('tuple', (1, 2)),
    ('list', [1, 2]),
    ('struct', tff.structure.Struct([('b', 1), ('a', 2)])),
    ('struct_without_names', tff.structure.Struct([(None, 1), (None, 2)])),
    ('named_tuple', _Point(1, 2)),
    ('attrs', _Interval(1, 2)),
  )
  def test_containers_of_arguments(self, argument):
    value = local_values.to_local_value(argument, _PAIR)
    self.assertIsInstance(value, tuple)
    self.assertEqual(value, (1, 2))

  def test_containers_of_results_that_have_no_type(self):
    def result(*elements):
      value = tuple(map(tf.constant, range(len(elements))))
      return local_values.from_local_value(value, tff.StructType(elements))

    named = result(('b', np.int32), ('a', np.int32))
    self.assertEqual(named, collections.OrderedDict(b=0, a=1))
    self.assertIs(type(named), collections.OrderedDict)
    self.assertEqual(result(np.int32, np.int32), (0, 1))
    with self.assertRaisesRegex(ValueError, 'mix of named and unnamed'):
      result(np.int32, ('a', np.int32))

  @parameterized.named_parameters(
    ('length', [1, 2, 3], 'struct value of 3 elements'),
    ('struct_length', _struct('b'), 'mismatching tuple length'),
    ('struct_names', _struct('a', 'b'), 'element names a vs. b'),
  )
  def test_wrong_structures(self, argument, message):
    with self.assertRaisesRegex(TypeError, message):
      local_values.to_local_value(argument, _PAIR)

  def test_a_struct_that_is_none(self):
    with self.assertRaisesRegex(ValueError, 'Expected a `tff.StructType`'):
      local_values.to_local_value(_struct('a'), _INT)


class FederatedTest(parameterized.TestCase):
  def test_wrong_members(self):
    with self.assertRaisesRegex(TypeError, 'Expected list, found tuple'):
      local_values.to_local_value((1, 2), _CLIENT_INTS)
    with self.assertRaisesRegex(TypeError, "<class 'str'> to dtype"):
      local_values.to_local_value([1, 'a'], _CLIENT_INTS)

  def test_functions_are_no_values(self):
    with self.assertRaisesRegex(ValueError, 'Unable to serialize'):
      local_values.to_local_value(1, tff.FunctionType(None, np.int32))
    with self.assertRaisesRegex(ValueError, 'cannot return'):
      local_values.from_local_value(1, tff.FunctionType(None, np.int32))

  def test_sequences_of_clients(self):
    examples = (np.ones([3, 2], np.float32), np.arange(3))
    client = batches.sequential_batches(
      examples, client_id='someone', batch_size=2
    )
    batch_type = (
      tff.TensorType(np.float32, [None, 2]),
      tff.TensorType(np.int64, [None]),
    )
    type_spec = tff.FederatedType(tff.SequenceType(batch_type), tff.CLIENTS)
    dataset = client.to_dataset()
    same, kept = local_values.to_local_value([client, dataset], type_spec)
    self.assertIs(same, client)
    self.assertIs(kept, dataset)
    for result in local_values.from_local_value([same, kept], type_spec):
      labels = [y.tolist() for _, y in result.as_numpy_iterator()]
      self.assertEqual(labels, [[0, 1], [2]])


class CardinalitiesTest(absltest.TestCase):
  def test_counts_clients(self):
    type_spec = tff.types.to_type(
      collections.OrderedDict(
        state=tff.FederatedType(np.int32, tff.SERVER),
        data=[_CLIENT_INTS, tff.FederatedType(np.int32, tff.CLIENTS, True)],
        other=_PAIR,
      )
    )
    argument = collections.OrderedDict(
      state=1, data=[[1, 2, 3], 4], other=(1, 2)
    )
    self.assertEqual(
      local_values.infer_cardinalities(argument, type_spec), {tff.CLIENTS: 3}
    )
    packed = tff.structure.Struct(argument.items())
    self.assertEqual(
      local_values.infer_cardinalities(packed, type_spec), {tff.CLIENTS: 3}
    )

  def test_nothing_to_count(self):
    self.assertEqual(local_values.infer_cardinalities(None, None), {})
    self.assertEqual(local_values.infer_cardinalities(3, _INT), {})
    self.assertEqual(
      local_values.infer_cardinalities([], _CLIENT_INTS), {tff.CLIENTS: 0}
    )

  def test_a_value_that_says_it(self):
    descriptor = tff.framework.CreateDataDescriptor(['a', 'b'], _INT)
    self.assertEqual(
      local_values.infer_cardinalities(descriptor, _CLIENT_INTS),
      {tff.CLIENTS: 2},
    )


@tff.tensorflow.computation
def _every_kind_of_result():
  numbers = tf.constant([[1, 2], [3, 4]])
  return collections.OrderedDict(
    z=_Point(numbers, _Interval(tf.constant(1.5), [True, tf.constant('word')])),
    again=[numbers, (numbers,)],
    halves=(tf.cast(numbers, tf.bfloat16), tf.constant(0.5, tf.bfloat16)),
    words=tf.constant([['a'], ['b']]),
    none=tf.zeros([0, 2]),
    plain={'c': np.uint8(1), 'b': tf.constant(2j), 'a': ()},
    numbers=tf.data.Dataset.range(3),
    pairs=tf.data.Dataset.range(2).map(lambda i: {'q': i, 'p': (i, [i])}),
  )


class ComparisonWithTheLocalWorkerTest(absltest.TestCase):
  def _assert_same(self, found, expected):
    self.assertIs(type(found), type(expected))
    if isinstance(expected, np.ndarray):
      np.testing.assert_array_equal(found, expected, strict=True)
      self.assertEqual(found.flags.writeable, expected.flags.writeable)
    elif isinstance(expected, dict):
      self.assertEqual(list(found), list(expected))
      for key, value in expected.items():
        self._assert_same(found[key], value)
    elif isinstance(expected, (list, tuple)):
      self.assertLen(found, len(expected))
      for one, other in zip(found, expected):
        self._assert_same(one, other)
    elif attrs.has(type(expected)):
      self._assert_same(found.start, expected.start)
      self._assert_same(found.end, expected.end)
    else:
      self.assertEqual(found, expected)

  def test_results(self):
    computation = _every_kind_of_result
    with contexts.create_context('local_worker') as context:
      expected = context.invoke(computation, None)
    function = tensorflow_functions.TensorFlowFunction(
      tff.framework.serialize_computation(computation)
    )
    result = local_values.from_local_value(
      function(), computation.type_signature.result
    )
    for name in ('numbers', 'pairs'):
      found, other = result.pop(name), expected.pop(name)
      self._assert_same(found.element_spec, other.element_spec)
      self._assert_same(
        list(found.as_numpy_iterator()), list(other.as_numpy_iterator())
      )
    self._assert_same(result, expected)

  def test_arguments(self):
    arguments = [
      *(1, 2**30, 2**31, 2**40, -1.0, 0.5, True, 'a', '3', b'3', b'a\0'),
      *(np.int8(3), np.float32(1), np.str_('x'), tf.constant(3)),
      *(tf.constant('x'), tf.constant(['a', 'b']), tf.ones([2], tf.float64)),
      *(np.array(3, np.int32), np.array([1, 2], np.int32)),
      *(np.array([1, 2], np.float16), np.array([1, 2], '>f4')),
      *(np.array([1, 9, 2, 9], np.float32)[::2], np.ones([2, 2], np.float32)),
      *(np.array(['a', 'b']), np.array([b'a', b'b'], object)),
      *([1, 'a'], [1.0, 2.0], (1.0, np.float32(2.0)), ['a', 'b']),
      *((np.int64(1),), {'a': 1}),
    ]
    types = [
      *map(tff.TensorType, (np.int32, np.int64, np.float32, np.bool_, np.str_)),
      *(tff.TensorType(dtype, [None]) for dtype in (np.int32, np.float32)),
      _WORDS,
    ]
    with contexts.create_context('local_worker') as context:
      for type_spec in types:
        identity = tff.tensorflow.computation(lambda x: x, type_spec)
        for argument in arguments:
          with self.subTest(f'{argument!r} for {type_spec}'):
            try:
              expected = context.invoke(identity, argument)
            except Exception as error:
              with self.assertRaises(type(error)) as raised:
                local_values.to_local_value(argument, type_spec)
              self.assertEqual(str(raised.exception), str(error))
            else:
              value = local_values.to_local_value(argument, type_spec)
              self._assert_same(
                local_values.from_local_value(value, type_spec), expected
              )
