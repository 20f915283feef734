# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of a second data set's division like a first one's."""

from fedfish_tff import errors
from fedfish_tff.datasets import matched_partition
from tests import tolerance

from absl.testing import absltest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np

_LABELS = st.lists(st.integers(-1, 3), min_size=1, max_size=60).map(np.array)


class PartitionAlikeTest(absltest.TestCase):
  @settings(max_examples=100)
  @given(labels=_LABELS, others=_LABELS, data=st.data())
  def test_shares_are_those_of_the_others(self, labels, others, data):
    num_clients = data.draw(st.integers(1, 6))
    owners = np.array(
      data.draw(
        st.lists(
          st.integers(0, num_clients - 1),
          min_size=len(others),
          max_size=len(others),
        )
      )
    )
    partition = [np.nonzero(owners == i)[0] for i in range(num_clients)]
    found = matched_partition.partition_alike(
      labels, others, partition, seed=data.draw(st.integers(0, 3))
    )
    self.assertLen(found, num_clients)
    np.testing.assert_array_equal(
      np.sort(np.concatenate(found)),
      np.nonzero(np.isin(labels, others))[0],
    )
    for label in np.unique(others):
      for mine, indices in zip(found, partition):
        share = (
          np.mean(owners[others == label] == owners[indices[0]])
          if (len(indices))
          else 0
        )
        expected = share * np.sum(labels == label)
        self.assertLess(abs(np.sum(labels[mine] == label) - expected), 1)

  def test_who_gets_the_remainder_is_drawn(self):
    partition = [np.array([i]) for i in range(4)]
    seen = {
      tuple(
        map(
          len,
          matched_partition.partition_alike(
            np.zeros(2), np.zeros(4), partition, seed=seed
          ),
        )
      )
      for seed in range(20)
    }
    self.assertEqual(seen, {(1, 0, 1, 0), (0, 1, 0, 1)})

  def test_a_function_of_the_seed(self):
    labels, others = np.arange(200) % 3, np.arange(30) % 3
    partition = np.array_split(np.arange(30), 4)
    first, again, other = (
      matched_partition.partition_alike(labels, others, partition, seed=seed)
      for seed in (0, 0, 1)
    )
    tolerance.assert_same(first, again)
    self.assertFalse(
      all(np.array_equal(one, two) for one, two in zip(first, other))
    )

  def test_no_clients(self):
    with self.assertRaisesRegex(errors.InputError, 'no client'):
      matched_partition.partition_alike(np.zeros(2), np.zeros(2), [], seed=0)
