# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Packed sequences hold exactly the elements that tf.data would give."""

import asyncio
import collections
import concurrent.futures
import itertools
import threading
from typing import NamedTuple

from fedfish_tff.datasets import batches as batches_lib
from fedfish_tff.execution import interruption
from fedfish_tff.execution import packed_sequences

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_DTYPES = (np.float32, np.float64, np.int32, np.int64, np.uint8, np.bool_, str)
_TEXTS = np.array(
  [b'', b'a', b'\x00', b'b\x00', 'gr\u00fc\u00df'.encode()], object
)


class _Pair(NamedTuple):
  b: tf.Tensor
  a: tf.Tensor


def _tensor_type(dtype, shape):
  return tff.TensorType(np.str_ if dtype is str else dtype, shape)


def _make_array(rng, dtype, shape):
  if dtype is str:
    return rng.choice(_TEXTS, size=shape)
  if dtype is np.bool_:
    return rng.integers(2, size=shape).astype(bool)
  return (rng.normal(size=shape) * 50).astype(dtype)


def _elements(packed):
  """Cuts the elements out of a packed sequence as its docstring says."""
  for element in range(packed.num_elements):
    yield [
      _cut(leaf, packed.layouts[layout], element)
      for leaf, layout in zip(packed.leaves, packed.leaf_layouts, strict=True)
    ]


def _cut(leaf, layout, element):
  if layout.kind == 'elements':
    return leaf[layout.plan[element]]
  start = layout.starts[element]
  return leaf[layout.plan[start : start + layout.sizes[element]]]


def _assert_same_elements(actual, expected):
  actual, expected = list(actual), list(expected)
  assert len(actual) == len(expected), (len(actual), len(expected))
  for mine, other in zip(actual, expected, strict=True):
    for a, b in zip(mine, other, strict=True):
      a, b = _to_array(a), _to_array(b)
      assert a.dtype.kind == b.dtype.kind or {a.dtype.kind, b.dtype.kind} <= {
        *'OS'
      }, (a.dtype, b.dtype)
      np.testing.assert_array_equal(a, b)


@st.composite
def _ragged_elements(draw):
  """Draws leaf types and elements of them, as lists of arrays."""
  rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
  leaves = draw(
    st.lists(
      st.tuples(
        st.sampled_from(_DTYPES),
        st.booleans(),
        st.lists(st.integers(0, 3), max_size=2),
      ),
      min_size=1,
      max_size=3,
    )
  )
  sizes = draw(st.lists(st.integers(0, 4), max_size=5))
  types = [
    _tensor_type(dtype, [None, *shape] if is_batched else shape)
    for dtype, is_batched, shape in leaves
  ]
  elements = [
    tuple(
      _make_array(rng, dtype, [size, *shape] if is_batched else shape)
      for dtype, is_batched, shape in leaves
    )
    for size in sizes
  ]
  return types, elements


def _to_array(value):
  """As `np.asarray`, but a string stays what it is, trailing zeros too."""
  if isinstance(value, bytes):
    array = np.empty((), object)
    array[()] = value
    return array
  return np.asarray(value)


def _read(dataset):
  return [
    [_to_array(tensor.numpy()) for tensor in tf.nest.flatten(element)]
    for element in dataset
  ]


def _generated_dataset(types, elements):
  """The elements as a pipeline TensorFlow reads them from."""
  specs = tuple(tf.TensorSpec(t.shape, t.dtype) for t in types)
  return tf.data.Dataset.from_generator(
    lambda: iter(elements), output_signature=specs
  )


class PackSequenceTest(parameterized.TestCase):
  @hypothesis.settings(max_examples=60, deadline=None)
  @hypothesis.given(_ragged_elements())
  def test_lists_and_datasets_give_their_elements(self, drawn):
    types, elements = drawn
    element_type = tff.StructWithPythonType(types, tuple)
    for value in (list(elements), _generated_dataset(types, elements)):
      packed = packed_sequences.pack_sequence(value, element_type)
      _assert_same_elements(_elements(packed), elements)
      _assert_same_elements(_read(packed.to_dataset(element_type)), elements)
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
    packed = packed_sequences.pack_sequence(batches, element_type)
    _assert_same_elements(_elements(packed), batches)
    _assert_same_elements(_read(packed.to_dataset(element_type)), batches)
    self.assertEqual(packed.num_elements, batches.num_batches)
    if cap is None or cap >= n:
      self.assertIs(packed.leaves[0], x)
    else:
      self.assertLen(packed.leaves[0], cap)

  @parameterized.parameters(
    lambda ds: ds.batch(3),
    lambda ds: ds.batch(3, drop_remainder=True),
    lambda ds: ds.repeat(2).batch(4).take(3),
    lambda ds: ds.shuffle(5, seed=3, reshuffle_each_iteration=False).batch(3),
    lambda ds: ds.batch(3).prefetch(tf.data.AUTOTUNE),
    lambda ds: ds.batch(3).map(lambda e: e, num_parallel_calls=2),
    lambda ds: ds.batch(3).take(0),
    lambda ds: ds.batch(3).cache(),
    lambda ds: ds.batch(3).filter(lambda e: tf.reduce_sum(e['b']) > 0),
  )
  def test_pipelines(self, pipeline):
    # Names out of order: tf.data sorts them, TFF does not.
    examples = collections.OrderedDict(
      b=np.arange(10), a=np.arange(20, dtype=np.float32).reshape(10, 2)
    )
    dataset = pipeline(tf.data.Dataset.from_tensor_slices(examples))
    element_type = tff.types.tensorflow_to_type(dataset.element_spec)
    packed = packed_sequences.pack_sequence(dataset, element_type)
    expected = [(e['b'].numpy(), e['a'].numpy()) for e in dataset]
    _assert_same_elements(_elements(packed), expected)
    again = packed.to_dataset(element_type)
    self.assertEqual(again.element_spec, dataset.element_spec)
    self.assertIsInstance(again.element_spec, collections.OrderedDict)
    _assert_same_elements(
      [(e['b'].numpy(), e['a'].numpy()) for e in again], expected
    )

  @parameterized.parameters(0, 1, 3, 600)
  def test_single_examples_take_a_row_each(self, n):
    x = np.arange(2 * n, dtype=np.float32).reshape(n, 2)
    dataset = tf.data.Dataset.from_tensor_slices((x, x[:, 0]))
    element_type = tff.types.tensorflow_to_type(dataset.element_spec)
    packed = packed_sequences.pack_sequence(dataset, element_type)
    self.assertEqual(packed.num_elements, n)
    self.assertEqual(packed.leaf_layouts, (0, 0))
    self.assertEqual(packed.layouts[0].kind, 'elements')
    _assert_same_elements(_elements(packed), zip(x, x[:, 0]))
    _assert_same_elements(
      _read(packed.to_dataset(element_type)), zip(x, x[:, 0])
    )

  def test_fixed_batches_of_a_type_with_unknown_size_are_batches(self):
    dataset = tf.data.Dataset.range(6).batch(3, drop_remainder=True)
    packed = packed_sequences.pack_sequence(
      dataset, tff.TensorType(np.int64, [None])
    )
    self.assertEqual(packed.layouts[0].kind, 'batches')
    _assert_same_elements(_elements(packed), [[[0, 1, 2]], [[3, 4, 5]]])

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
    packed = packed_sequences.pack_sequence(elements, element_type)
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
      packed_sequences.pack_sequence(elements, element_type)

  def test_sequences_of_another_type_are_refused(self):
    element_type = tff.TensorType(np.float32, [None])
    batches = batches_lib.sequential_batches(
      np.arange(3), client_id='a', batch_size=2
    )
    for value in (batches, batches.to_dataset()):
      with self.assertRaisesRegex(
        TypeError, r'elements of type int64\[\?\]\* as TFF type float32\[\?\]\*'
      ):
        packed_sequences.pack_sequence(value, element_type)
    with self.assertRaisesRegex(TypeError, 'Python type int'):
      packed_sequences.pack_sequence(3, element_type)

  @parameterized.parameters(
    (tff.TensorType(np.float32, None),),
    (tff.TensorType(np.float32, [None, None]),),
    (tff.TensorType(np.float32, [3, None]),),
    (tff.SequenceType(np.float32),),
    (tff.StructType([]),),
  )
  def test_other_leaves_cannot_be_packed(self, element_type):
    with self.assertRaises(packed_sequences.PackingError):
      packed_sequences.pack_sequence([], element_type)

  def test_endless_datasets_cannot_be_packed(self):
    with self.assertRaisesRegex(packed_sequences.PackingError, 'no end'):
      packed_sequences.pack_sequence(
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
        packed_sequences.pack_sequence(
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
      packed_sequences.pack_sequence(dataset, tff.TensorType(np.float32))

  def test_nbytes_counts_texts(self):
    packed = packed_sequences.pack_sequence(
      [['abc', 'd']], tff.TensorType(np.str_, [None])
    )
    # Two references, four letters, two rows, one start and one size.
    self.assertEqual(packed.nbytes, 2 * 8 + 4 + 2 * 8 + 8 + 8)

  def test_datasets_of_packed_sequences_can_be_sent(self):
    element_type = tff.TensorType(np.int64, [None])
    packed = packed_sequences.pack_sequence([[1, 2], [3]], element_type)
    dataset = packed.to_dataset(element_type)
    graph = tf.raw_ops.DatasetToGraphV2(
      input_dataset=tf.data.experimental.to_variant(dataset)
    )
    sent = tf.data.experimental.from_variant(
      tf.raw_ops.DatasetFromGraph(graph_def=graph), dataset.element_spec
    )
    _assert_same_elements(_read(sent), [[[1, 2]], [[3]]])


class ConcatenateSequencesTest(parameterized.TestCase):
  @hypothesis.settings(max_examples=60, deadline=None)
  @hypothesis.given(_ragged_elements(), st.lists(st.integers(0, 5), min_size=1))
  def test_every_client_keeps_its_elements(self, drawn, lengths):
    types, elements = drawn
    element_type = tff.StructWithPythonType(types, tuple)
    clients = [elements[:length] for length in lengths]
    packed = [
      packed_sequences.pack_sequence(client, element_type) for client in clients
    ]
    cohort = packed_sequences.concatenate_sequences(packed)
    self.assertEqual(cohort.num_elements.dtype, np.int64)
    self.assertEqual(cohort.first_element.dtype, np.int64)
    for number, client in enumerate(clients):
      self.assertEqual(cohort.num_elements[number], len(client))
      first = cohort.first_element[number]
      found = [
        [
          _cut(leaf, cohort.layouts[layout], first + element)
          for leaf, layout in zip(
            cohort.leaves, cohort.leaf_layouts, strict=True
          )
        ]
        for element in range(len(client))
      ]
      _assert_same_elements(found, client)

  def test_leaves_share_a_layout_where_all_clients_do(self):
    vector = tff.TensorType(np.int64, [None])
    element_type = tff.StructType([vector, vector, vector])
    alike = packed_sequences.pack_sequence([([1], [2], [3])], element_type)
    apart = packed_sequences.pack_sequence([([1], [2], [3, 4])], element_type)
    self.assertEqual(alike.leaf_layouts, (0, 0, 0))
    cohort = packed_sequences.concatenate_sequences([alike, apart])
    self.assertEqual(cohort.leaf_layouts, (0, 0, 1))
    self.assertLen(cohort.layouts, 2)

  def test_client_batches_behind_one_another(self):
    clients = [
      batches_lib.plan_batches(
        (np.full([n, 2], n, np.float32), np.arange(n)),
        batches_lib.BatchSpec(batch_size=3, epochs=2, max_examples=7),
        client_id=str(n),
        seed=0,
        round_number=0,
      )
      for n in (5, 1, 9, 3)
    ]
    element_type = tff.types.tensorflow_to_type(
      (tf.TensorSpec([None, 2], tf.float32), tf.TensorSpec([None], tf.int64))
    )
    cohort = packed_sequences.concatenate_sequences(
      [packed_sequences.pack_sequence(c, element_type) for c in clients]
    )
    self.assertLen(cohort.layouts, 1)
    whole = packed_sequences.PackedSequence(
      cohort.leaves,
      cohort.layouts,
      cohort.leaf_layouts,
      int(cohort.num_elements.sum()),
    )
    _assert_same_elements(
      _elements(whole), [batch for client in clients for batch in client]
    )


if __name__ == '__main__':
  absltest.main()
