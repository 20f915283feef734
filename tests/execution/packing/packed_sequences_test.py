# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for packed_sequences; sequence_packing_test has more of their elements."""

from fedfish_tff.datasets import batches as batches_lib
from fedfish_tff.execution.packing import packed_sequences
from fedfish_tff.execution.packing import sequence_packing
from tests.execution import packed_elements

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


class LeavesTest(absltest.TestCase):
  def test_in_the_order_of_the_type_and_of_a_dataset(self):
    b = tff.TensorType(np.float32, [None])
    a, c = tff.TensorType(np.int32, [2]), tff.TensorType(np.str_)
    element_type = tff.StructType([('b', b), ('a', [a, c])])
    self.assertEqual(packed_sequences.leaf_types(element_type), (b, a, c))
    # tf.data sorts names.
    self.assertEqual(packed_sequences.dataset_order(element_type), (1, 2, 0))
    self.assertEqual(
      [packed_sequences.is_batched(leaf) for leaf in (b, a, c)],
      [True, False, False],
    )

  def test_layouts_in_order(self):
    layout = packed_sequences.Layout.in_order(5, [2, 0, 3])
    for array, expected in zip(
      layout.arrays, ([0, 1, 2, 3, 4], [[0, 2], [2, 0], [2, 3]]), strict=True
    ):
      self.assertEqual(array.dtype, np.int64)
      np.testing.assert_array_equal(array, expected)
    layout = packed_sequences.Layout.in_order(3)
    np.testing.assert_array_equal(layout.arrays, [[0, 1, 2]])

  def test_rows_of_one_array_are_not_copied(self):
    rows = np.arange(3)
    self.assertIs(packed_sequences.join_rows([rows]), rows)
    np.testing.assert_array_equal(
      packed_sequences.join_rows([rows, rows[:1]]), [0, 1, 2, 0]
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
  @hypothesis.settings(max_examples=60, deadline=None)
  @hypothesis.given(
    packed_elements.ragged_elements(), st.lists(st.integers(0, 5), min_size=1)
  )
  def test_every_client_keeps_its_elements(self, drawn, lengths):
    types, elements = drawn
    element_type = tff.StructWithPythonType(types, tuple)
    clients = [elements[:length] for length in lengths]
    packed = [
      sequence_packing.pack_sequence(client, element_type) for client in clients
    ]
    cohort = packed_sequences.concatenate_sequences(packed)
    packed_elements.assert_same_elements(
      packed_elements.elements(cohort),
      [element for client in clients for element in client],
    )

  def test_leaves_share_a_layout_where_all_clients_do(self):
    vector = tff.TensorType(np.int64, [None])
    element_type = tff.StructType([vector, vector, vector])
    alike = sequence_packing.pack_sequence([([1], [2], [3])], element_type)
    apart = sequence_packing.pack_sequence([([1], [2], [3, 4])], element_type)
    self.assertLen(set(alike.layouts), 1)
    cohort = packed_sequences.concatenate_sequences([alike, apart])
    self.assertIs(cohort.layouts[0], cohort.layouts[1])
    self.assertIsNot(cohort.layouts[1], cohort.layouts[2])

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
      [sequence_packing.pack_sequence(c, element_type) for c in clients]
    )
    self.assertLen(set(cohort.layouts), 1)
    packed_elements.assert_same_elements(
      packed_elements.elements(cohort),
      [batch for client in clients for batch in client],
    )
