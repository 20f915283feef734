# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of counts of clients by classes."""

import collections

from fedfish_tff.datasets import partition_summary

from absl.testing import absltest
from hypothesis import given
from hypothesis import strategies as st
import numpy as np


@st.composite
def _partitions(draw):
  """Labels, and for each example its client or -1."""
  labels = draw(st.lists(st.sampled_from('abc'), min_size=1, max_size=30))
  owners = [draw(st.integers(-1, 3)) for _ in labels]
  return np.array(labels), np.array(owners)


class PartitionSummaryTest(absltest.TestCase):
  @given(_partitions())
  def test_counts_and_the_unassigned_agree_with_counters(self, drawn):
    labels, owners = drawn
    partition = [np.flatnonzero(owners == client) for client in range(4)]
    classes, counts = partition_summary.count_labels(labels, partition)
    self.assertEqual(list(classes), sorted(set(labels)))
    self.assertEqual(counts.dtype, np.int64)
    for client, row in enumerate(counts):
      expected = collections.Counter(labels[owners == client])
      self.assertEqual(list(row), [expected[label] for label in classes])
    self.assertEqual(
      list(partition_summary.unassigned_examples(partition, len(labels))),
      [i for i, owner in enumerate(owners) if owner == -1],
    )
