# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of leaves of types, packed sequences and rows of datasets."""

from fedfish_tff.datasets import batches as batches_lib
from fedfish_tff.execution.packing import dataset_rows
from fedfish_tff.execution.packing import packed_sequences
from fedfish_tff.execution.packing import sequence_packing
from fedfish_tff.execution.packing import type_leaves
from tests.execution import packed_elements

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_FLOAT = tff.TensorType(np.float32)

_TEXTS = tff.TensorType(np.str_, [None])

_SEQUENCE = tff.SequenceType(np.int32)

_B = tff.StructType([_TEXTS, tff.StructType([])])

_C = tff.StructType([('d', _SEQUENCE)])

_NESTED = tff.StructType([('a', _FLOAT), ('b', _B), ('c', _C)])


class StructuresTest(absltest.TestCase):
  def test_leaves_in_order_and_back(self):
    value = (1.0, ('x', ()), ('s',))
    leaves = type_leaves.flatten(value)
    self.assertEqual(leaves, [1.0, 'x', 's'])
    # Only as many as are needed are taken.
    rest = iter([*leaves, 'more'])
    self.assertEqual(type_leaves.unflatten(rest, _NESTED), value)
    self.assertEqual(list(rest), ['more'])
    self.assertEqual(type_leaves.flatten(2), [2])


class LeavesTest(absltest.TestCase):
  def test_rows_of_one_array_are_not_copied(self):
    rows = np.arange(3)
    self.assertIs(packed_sequences.join_rows([rows]), rows)
    np.testing.assert_array_equal(
      packed_sequences.join_rows([rows, rows[:1]]), [0, 1, 2, 0]
    )

  def test_used_rows_are_those_of_numpy_however_many_arrays_are_joined(self):
    arrays = [np.arange(3), np.array([0.5, 1.5])]
    for used in ([[2, -1, -3], [1]], [[0], None], [None, [-2, 0]]):
      used = [rows and np.array(rows) for rows in used]
      taken = [a if r is None else a[r] for a, r in zip(arrays, used)]
      np.testing.assert_array_equal(
        packed_sequences.join_rows(arrays, used), np.concatenate(taken)
      )
      np.testing.assert_array_equal(
        packed_sequences.join_rows(arrays[:1], used[:1]), taken[0]
      )
    for row in (3, -4):
      for count in (1, 2):
        with self.assertRaises(IndexError):
          packed_sequences.join_rows(
            arrays[:count], [np.array([0, row]), np.array([0])][:count]
          )


class PackedSequenceTest(absltest.TestCase):
  def test_nbytes_counts_texts(self):
    packed = sequence_packing.pack_sequence(
      [['abc', 'd']], tff.TensorType(np.str_, [None])
    )
    # Two references, four letters, two rows, one start and one size.
    self.assertEqual(packed.nbytes, 2 * 8 + 4 + 2 * 8 + 8 + 8)

  def test_datasets_of_packed_sequences_can_be_sent(self):
    element_type = tff.TensorType(np.int64, [None])
    packed = sequence_packing.pack_sequence([[1, 2], [3]], element_type)
    dataset = packed.to_dataset(element_type)
    graph = tf.raw_ops.DatasetToGraphV2(
      input_dataset=tf.data.experimental.to_variant(dataset)
    )
    sent = tf.data.experimental.from_variant(
      tf.raw_ops.DatasetFromGraph(graph_def=graph), dataset.element_spec
    )
    packed_elements.assert_same_elements(
      packed_elements.read(sent), [[[1, 2]], [[3]]]
    )


class ConcatenateSequencesTest(parameterized.TestCase):
  def test_leaves_share_a_layout_where_all_clients_do(self):
    vector = tff.TensorType(np.int64, [None])
    element_type = tff.StructType([vector, vector, vector])
    alike = sequence_packing.pack_sequence([([1], [2], [3])], element_type)
    apart = sequence_packing.pack_sequence([([1], [2], [3, 4])], element_type)
    self.assertLen(set(alike.layouts), 1)
    _, layouts = packed_sequences.concatenate_sequences([alike, apart])
    self.assertIs(layouts[0], layouts[1])
    self.assertIsNot(layouts[1], layouts[2])

  @hypothesis.settings(max_examples=40, deadline=None)
  @hypothesis.given(
    caps=st.lists(st.integers(0, 5), min_size=1, max_size=4),
    epochs=st.integers(1, 3),
  )
  def test_takes_the_used_rows_of_each_client(self, caps, epochs):
    rng = np.random.default_rng(0)
    clients = [
      batches_lib.plan_batches(
        (np.float32(rng.normal(size=[4, 2])), np.arange(4) + 10 * i),
        batches_lib.BatchSpec(
          batch_size=2, epochs=epochs, max_examples=cap or None
        ),
        client_id=str(i),
        seed=0,
        round_number=1,
      )
      for i, cap in enumerate(caps)
    ]
    element_type = tff.types.tensorflow_to_type(
      (tf.TensorSpec([None, 2], tf.float32), tf.TensorSpec([None], tf.int64))
    )
    leaves, layouts = packed_sequences.concatenate_sequences(
      [sequence_packing.pack_sequence(c, element_type) for c in clients]
    )
    num_rows = sum(min(cap or 4, 4) for cap in caps)
    self.assertEqual([len(leaf) for leaf in leaves], [num_rows, num_rows])
    packed_elements.assert_same_elements(
      packed_elements.elements(
        packed_sequences.PackedSequence(tuple(leaves), tuple(layouts))
      ),
      [batch for client in clients for batch in client],
    )


_COUNTS = st.integers(-1, 9)
_STEPS = st.lists(
  st.tuples(st.just('take'), _COUNTS)
  | st.tuples(st.just('skip'), _COUNTS)
  | st.tuples(st.just('repeat'), st.integers(0, 3))
  | st.tuples(st.just('prefetch'), st.integers(1, 3)),
  max_size=3,
)


def _apply(dataset, steps):
  for name, number in steps:
    dataset = getattr(dataset, name)(number)
  return dataset


def _slices(n):
  x = np.arange(2 * n, dtype=np.float32).reshape(n, 2)
  return tf.data.Dataset.from_tensor_slices((x, x[:, 0].astype(bytes)))


class DatasetRowsTest(parameterized.TestCase):
  @hypothesis.settings(max_examples=80, deadline=None)
  @hypothesis.given(
    n=st.integers(1, 9),
    before=_STEPS,
    batch=st.none() | st.tuples(st.integers(1, 4), st.booleans()),
    after=_STEPS,
  )
  def test_elements_are_those_of_tf_data(self, n, before, batch, after):
    dataset = _apply(_slices(n), before)
    if batch:
      dataset = dataset.batch(batch[0], drop_remainder=batch[1])
    dataset = _apply(dataset, after).with_options(tf.data.Options())
    self.assertIsNotNone(dataset_rows.find_rows(dataset))
    packed = sequence_packing.pack_sequence(
      dataset, tff.types.tensorflow_to_type(dataset.element_spec)
    )
    packed_elements.assert_same_elements(
      packed_elements.elements(packed), list(dataset.as_numpy_iterator())
    )
    # Nothing travels that is in no element.
    self.assertLessEqual(
      len(packed.leaves[0]), max(n, packed.num_elements * (batch or (1,))[0])
    )

  def test_arrays_are_not_copied(self):
    tensor = tf.constant(np.arange(8.0))
    dataset = tf.data.Dataset.from_tensor_slices(tensor).batch(3).repeat(2)
    (leaf,), _ = dataset_rows.find_rows(dataset)
    self.assertTrue(np.shares_memory(leaf, np.asarray(tensor)))

  @parameterized.parameters(
    lambda ds: ds.shuffle(4, seed=1),
    lambda ds: ds.map(lambda x, y: (x + 1, y)),
    lambda ds: ds.batch(2).batch(2),
    lambda ds: ds.shuffle(4).batch(2).take(1),
    lambda ds: ds.repeat(10**9).take(3),
    lambda ds: ds.concatenate(ds),
    lambda _: tf.data.Dataset.range(3),
  )
  def test_other_steps_are_read(self, pipeline):
    self.assertIsNone(dataset_rows.find_rows(pipeline(_slices(5))))
