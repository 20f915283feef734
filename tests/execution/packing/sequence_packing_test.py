# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Packed sequences hold exactly the elements that tf.data would give."""

import asyncio
import collections
import concurrent.futures
import copy
import itertools
import threading
from typing import NamedTuple

from fedfish_tff.datasets import batches as batches_lib
from fedfish_tff.execution import interruption
from fedfish_tff.execution.packing import packed_sequences
from fedfish_tff.execution.packing import sequence_packing
from tests.execution import packed_elements

from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff


class _Pair(NamedTuple):
  b: tf.Tensor
  a: tf.Tensor


def _generated_dataset(types, elements):
  """The elements as a pipeline TensorFlow reads them from."""
  specs = tuple(tf.TensorSpec(t.shape, t.dtype) for t in types)
  return tf.data.Dataset.from_generator(
    lambda: iter(elements), output_signature=specs
  )


class PackSequenceTest(parameterized.TestCase):
  @hypothesis.settings(max_examples=60, deadline=None)
  @hypothesis.given(packed_elements.ragged_elements())
  @pytest.mark.thorough
  def test_lists_and_datasets_give_their_elements(self, drawn):
    types, elements = drawn
    element_type = tff.StructWithPythonType(types, tuple)
    for value in (list(elements), _generated_dataset(types, elements)):
      packed = sequence_packing.pack_sequence(value, element_type)
      packed_elements.assert_same_elements(
        packed_elements.elements(packed), elements
      )
      packed_elements.assert_same_elements(
        packed_elements.read(packed.to_dataset(element_type)), elements
      )
      for leaf, tensor_type in zip(packed.leaves, types, strict=True):
        if tensor_type.dtype != np.str_:
          self.assertEqual(leaf.dtype, tensor_type.dtype)

  @hypothesis.settings(max_examples=40, deadline=None)
  @hypothesis.given(
    n=st.integers(0, 13),
    batch_size=st.integers(1, 5),
    epochs=st.integers(1, 3),
    cap=st.none() | st.integers(1, 14),
    shuffle=st.booleans(),
  )
  def test_client_batches_are_not_copied(
    self, n, batch_size, epochs, cap, shuffle
  ):
    rng = np.random.default_rng(n)
    x, y = rng.normal(size=(n, 2, 3)).astype(np.float32), np.arange(n)
    batches = batches_lib.plan_batches(
      (x, y),
      batches_lib.BatchSpec(
        batch_size=batch_size, epochs=epochs, max_examples=cap, shuffle=shuffle
      ),
      client_id='a',
      seed=1,
      round_number=2,
    )
    element_type = tff.types.tensorflow_to_type(
      (
        tf.TensorSpec([None, 2, 3], tf.float32),
        tf.TensorSpec([None], tf.int64),
      )
    )
    packed = sequence_packing.pack_sequence(batches, element_type)
    packed_elements.assert_same_elements(
      packed_elements.elements(packed), batches
    )
    packed_elements.assert_same_elements(
      packed_elements.read(packed.to_dataset(element_type)), batches
    )
    self.assertEqual(packed.num_elements, batches.num_batches)
    self.assertIs(packed.leaves[0], x)
    if cap is None or cap >= n:
      self.assertIs(packed.copy_used()[0], x)
    else:
      self.assertLen(packed.copy_used()[0], cap)
    # A copy is made as a message is: of the used rows only.
    sent = copy.copy(packed)
    self.assertLen(sent.leaves[0], min(n, cap or n))
    self.assertEqual(sent.nbytes, packed.nbytes)
    packed_elements.assert_same_elements(
      packed_elements.elements(sent), batches
    )

  @parameterized.parameters(
    [[{'b': [1.0], 'a': 2}]],
    [[collections.OrderedDict(a=2, b=[1.0])]],
    [[_Pair(b=[1.0], a=2)]],
    [[([1.0], 2)]],
    [[[[1.0], 2]]],
    [[tff.structure.Struct([('b', [1.0]), ('a', 2)])]],
    [[{'b': np.float64([1.0]), 'a': np.int64(2)}]],
    [[{'b': tf.constant([1.0]), 'a': tf.constant(2)}]],
  )
  def test_containers_of_lists(self, elements):
    element_type = tff.StructType(
      [('b', tff.TensorType(np.float32, [None])), ('a', np.int32)]
    )
    packed = sequence_packing.pack_sequence(elements, element_type)
    b, a = packed.leaves
    np.testing.assert_array_equal(b, np.float32([1.0]))
    np.testing.assert_array_equal(a, np.int32([2]))
    self.assertEqual((b.dtype, a.dtype), (np.float32, np.int32))
    self.assertEqual(packed_sequences.dataset_order(element_type), (1, 0))

  @parameterized.parameters(
    [[[1, 2, 3]]], [[{'b': 1.0}]], [[([[1.0]], 2)]], [[([1.0], [2])]], [[5]]
  )
  def test_elements_of_another_type_are_refused(self, elements):
    element_type = tff.StructType(
      [('b', tff.TensorType(np.float32, [None])), ('a', np.int32)]
    )
    with self.assertRaises(TypeError):
      sequence_packing.pack_sequence(elements, element_type)

  def test_sequences_of_another_type_are_refused(self):
    element_type = tff.TensorType(np.float32, [None])
    batches = batches_lib.sequential_batches(
      np.arange(3), client_id='a', batch_size=2
    )
    with self.assertRaisesRegex(
      TypeError, r'elements of type int64\[\?\]\* as TFF type float32\[\?\]\*'
    ):
      sequence_packing.pack_sequence(batches, element_type)
    with self.assertRaisesRegex(TypeError, 'Python type int'):
      sequence_packing.pack_sequence(3, element_type)

  @parameterized.parameters(
    (tff.TensorType(np.float32, None),),
    (tff.TensorType(np.float32, [3, None]),),
    (tff.SequenceType(np.float32),),
    (tff.StructType([]),),
  )
  def test_other_leaves_cannot_be_packed(self, element_type):
    with self.assertRaises(packed_sequences.PackingError):
      sequence_packing.pack_sequence([], element_type)

  def test_batches_of_rows_of_any_length(self):
    element_type = tff.TensorType(np.int32, [None, None])
    rows = np.arange(12, dtype=np.int32).reshape(3, 4)
    batches = batches_lib.sequential_batches(rows, client_id='a', batch_size=2)
    for value in (batches, batches.to_dataset(), [rows[:2], rows[2:]]):
      packed = sequence_packing.pack_sequence(value, element_type)
      np.testing.assert_array_equal(packed.leaves[0], rows)
      np.testing.assert_array_equal(packed.layouts[0].bounds, [[0, 2], [2, 1]])
      found = list(packed.to_dataset(element_type).as_numpy_iterator())
      np.testing.assert_array_equal(found[0], rows[:2])
      np.testing.assert_array_equal(found[1], rows[2:])
    with self.assertRaisesRegex(
      packed_sequences.PackingError, r'different shapes, \(3,\) and \(4,\)'
    ):
      sequence_packing.pack_sequence([rows, rows[:, :3]], element_type)

  def test_endless_datasets_cannot_be_packed(self):
    with self.assertRaisesRegex(packed_sequences.PackingError, 'no end'):
      sequence_packing.pack_sequence(
        tf.data.Dataset.range(3).repeat(), tff.TensorType(np.int64)
      )

  def test_reading_without_end_can_be_stopped(self):
    has_begun = threading.Event()

    def count():
      for number in itertools.count():
        has_begun.set()
        yield number

    dataset = tf.data.Dataset.from_generator(
      count, output_signature=tf.TensorSpec([], tf.int64)
    ).batch(1)
    packing = concurrent.futures.Future()
    readers = []

    def work():
      readers.append(threading.current_thread())
      try:
        sequence_packing.pack_sequence(
          dataset, tff.TensorType(np.int64, [None])
        )
      except interruption.StoppedError as error:
        packing.set_exception(error)
        raise

    async def start_and_cancel():
      task = asyncio.ensure_future(interruption.run_async(work))
      await asyncio.to_thread(has_begun.wait, 30)
      task.cancel()
      with self.assertRaises(asyncio.CancelledError):
        await task

    asyncio.run(start_and_cancel())
    self.assertIsInstance(packing.exception(30), interruption.StoppedError)
    readers[0].join(30)

  def test_errors_of_a_pipeline_reach_the_caller(self):
    dataset = tf.data.Dataset.range(3).map(
      lambda e: tf.debugging.check_numerics(1.0 / tf.cast(e, tf.float32), 'bad')
    )
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'bad'):
      sequence_packing.pack_sequence(dataset, tff.TensorType(np.float32))
