# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of leaves of types and packed sequences."""

from fedfish_tff.execution.packing import packed_sequences
from fedfish_tff.execution.packing import sequence_packing
from fedfish_tff.execution.packing import type_leaves
from tests.execution import packed_elements

from absl.testing import absltest
from absl.testing import parameterized
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
