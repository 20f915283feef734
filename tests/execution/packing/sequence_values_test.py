# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for sequence_values."""

import collections
from typing import NamedTuple

from fedfish_tff.datasets import batches
from fedfish_tff.execution.packing import sequence_values

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_PAIR = collections.OrderedDict(b=np.int64, a=np.int64)
_PAIRS = tff.SequenceType(_PAIR)
_BATCHES = tff.SequenceType(
  (
    tff.TensorType(np.float32, [None, 2]),
    tff.TensorType(np.int64, [None]),
  )
)


class _Pair(NamedTuple):
  b: int
  a: int


def _pairs(container):
  return tf.data.Dataset.range(3).map(lambda i: container(b=10 * i, a=i))


def _elements(value, type_spec):
  """Reads a local sequence as its users do."""
  dataset = sequence_values.to_result_sequence(value, type_spec)
  return list(dataset.as_numpy_iterator())


class PartsTest(parameterized.TestCase):
  @parameterized.parameters(collections.OrderedDict, _Pair)
  def test_nobody_guesses_which_part_is_which(self, container):
    variant = tf.data.experimental.to_variant(_pairs(container))
    with self.assertRaises(ValueError):
      sequence_values.check_parts_are_known(
        sequence_values.from_variant(variant, _PAIRS), _PAIRS
      )

  def test_known_parts(self):
    sequence_values.check_parts_are_known(
      _pairs(collections.OrderedDict), _PAIRS
    )
    numbers = tff.SequenceType((np.int64, np.int64))
    dataset = tf.data.Dataset.zip((tf.data.Dataset.range(3),) * 2)
    variant = tf.data.experimental.to_variant(dataset)
    sequence_values.check_parts_are_known(
      sequence_values.from_variant(variant, numbers), numbers
    )


class OrderTest(parameterized.TestCase):
  @parameterized.parameters('parameter', 'result')
  def test_named_tuples_whose_order_would_be_lost(self, where):
    def function_type(container):
      element = tff.StructWithPythonType(
        [('b', np.int64), ('a', np.int64)], container
      )
      data = tff.FederatedType((tff.SequenceType(element),), tff.CLIENTS)
      types = {'parameter': np.int64, 'result': np.int64, where: data}
      return tff.FunctionType(**types)

    sequence_values.check_order(function_type(collections.OrderedDict))
    with self.assertRaisesRegex(ValueError, 'order would be lost'):
      sequence_values.check_order(function_type(_Pair))


class ArgumentTest(parameterized.TestCase):
  def test_a_dataset_stays_one_and_is_not_read(self):
    def fail(unused):
      raise AssertionError('The dataset was read.')

    dataset = tf.data.Dataset.range(3).map(
      lambda i: tf.ensure_shape(tf.numpy_function(fail, [i], tf.int64), [])
    )
    self.assertIs(
      sequence_values.to_local_sequence(dataset, tff.SequenceType(np.int64)),
      dataset,
    )

  def test_client_batches_of_another_type(self):
    client = batches.sequential_batches(
      (np.ones([3, 2]), np.ones([3], np.int64)),
      client_id='someone',
      batch_size=2,
    )
    with self.assertRaisesRegex(TypeError, r'float64\[\?,2\]'):
      sequence_values.to_local_sequence(client, _BATCHES)

  def test_a_dataset_without_batches(self):
    dataset = tf.data.Dataset.from_tensors((np.ones(2, np.float32), 1))
    dataset = dataset.map(lambda x, y: (x, tf.cast(y, tf.int64)))
    with self.assertRaisesRegex(
      TypeError, r'<float32\[2\],int64>.* must be batches'
    ):
      sequence_values.to_local_sequence(dataset, _BATCHES)

  # The messages are TFF's.
  @parameterized.named_parameters(
    (
      'other_elements',
      tf.data.Dataset.range(3),
      TypeError,
      r'Cannot serialize dataset with elements of type int64\* as TFF type '
      r'<b=int64,a=int64>\*\.',
    ),
    ('tuple', ((1, 2),), TypeError, 'Cannot serialize Python type tuple'),
    ('text', 'abc', TypeError, 'Cannot serialize Python type str'),
    ('none', None, TypeError, 'Cannot serialize Python type NoneType'),
    (
      'dictionaries',
      _pairs(dict),
      ValueError,
      'non-sorted sequence order with non-OrderedDict container',
    ),
    (
      'named_tuples',
      _pairs(_Pair),
      ValueError,
      'non-sorted sequence order with non-OrderedDict container',
    ),
    (
      'other_names',
      [dict(a=1, c=2)],
      TypeError,
      r'does not match type <b=int64,a=int64>',
    ),
  )
  def test_what_is_refused(self, value, error, message):
    # Once more from the cache.
    for _ in range(2):
      with self.assertRaisesRegex(error, message):
        sequence_values.to_local_sequence(value, _PAIRS)

  def test_datasets_with_sorted_names_in_other_containers(self):
    class Sorted(NamedTuple):
      a: int
      b: int

    type_spec = tff.SequenceType(
      collections.OrderedDict(a=np.int64, b=np.int64)
    )
    for container in (dict, Sorted):
      dataset = tf.data.Dataset.range(2).map(
        lambda i, container=container: container(a=i, b=10 * i)
      )
      value = sequence_values.to_local_sequence(dataset, type_spec)
      self.assertEqual(
        _elements(value, type_spec),
        [collections.OrderedDict(a=i, b=10 * i) for i in range(2)],
      )
