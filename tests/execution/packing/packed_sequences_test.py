# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for packed_sequences; sequence_packing_test has more of their elements."""

from fedfish_tff.execution.packing import packed_sequences
from fedfish_tff.execution.packing import sequence_packing
from tests.execution import packed_elements

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


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
