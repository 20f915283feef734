# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the division of one data set among clients."""

import collections

from fedfish_tff import errors
from fedfish_tff.datasets import partitions
from tests import tolerance

from absl.testing import absltest
from absl.testing import parameterized
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np
from scipy import stats


def _top_shares(labels, partition, num_labels):
  """Each client's share of its most frequent label."""
  counts = np.stack(
    [np.bincount(labels[i], minlength=num_labels) for i in partition]
  )
  return counts.max(axis=1) / counts.sum(axis=1)


class PartitionByDirichletTest(parameterized.TestCase):
  @settings(max_examples=150)
  @given(
    labels=st.lists(st.integers(-3, 6), min_size=1, max_size=200),
    num_clients=st.integers(1, 12),
    alpha=st.floats(0, 1e9, exclude_min=True),
    seed=st.integers(0, 1000),
    min_examples=st.integers(1, 8),
  )
  def test_is_a_partition_with_the_minimum_kept(
    self, labels, num_clients, alpha, seed, min_examples
  ):
    labels = np.array(labels)
    options = dict(
      num_clients=num_clients, alpha=alpha, seed=seed, min_examples=min_examples
    )
    if num_clients * min_examples > len(labels):
      with self.assertRaisesRegex(errors.InputError, 'cannot give'):
        partitions.partition_by_dirichlet(labels, **options)
      return
    found = partitions.partition_by_dirichlet(labels, **options)
    self.assertLen(found, num_clients)
    np.testing.assert_array_equal(
      np.sort(np.concatenate(found)), np.arange(len(labels))
    )
    for indices in found:
      self.assertGreaterEqual(len(indices), min_examples)
      np.testing.assert_array_equal(indices, np.sort(indices))
    again = partitions.partition_by_dirichlet(labels, **options)
    tolerance.assert_same(found, again)

  def test_differs_by_seed(self):
    labels = np.arange(1000) % 10
    a, b = (
      partitions.partition_by_dirichlet(
        labels, num_clients=5, alpha=0.5, seed=seed
      )
      for seed in (0, 1)
    )
    self.assertFalse(all(np.array_equal(*pair) for pair in zip(a, b)))

  @parameterized.parameters(0.05, 0.1, 0.5, 1.0, 10.0)
  def test_label_proportions_follow_the_dirichlet_distribution(self, alpha):
    # Many clients, so that the demand for every label is about equal and the
    # proportions are those drawn; rounding is small at 500 examples a client.
    num_clients, num_labels = 400, 10
    labels = np.arange(num_clients * 500) % num_labels
    found = partitions.partition_by_dirichlet(
      labels, num_clients=num_clients, alpha=alpha, seed=3
    )
    expected = np.random.default_rng(0).dirichlet(
      np.full(num_labels, alpha), size=20_000
    )
    shares = _top_shares(labels, found, num_labels)
    quantiles = [0.1, 0.25, 0.5, 0.75, 0.9]
    np.testing.assert_allclose(
      np.quantile(shares, quantiles),
      np.quantile(expected.max(axis=1), quantiles),
      atol=0.07,
    )

  def test_limits_of_alpha(self):
    labels = np.arange(4000) % 10
    for alpha in (1e6, 1e100):
      alike = partitions.partition_by_dirichlet(
        labels, num_clients=8, alpha=alpha, seed=0
      )
      self.assertLess(_top_shares(labels, alike, 10).max(), 0.11)
    one_label = partitions.partition_by_dirichlet(
      labels, num_clients=200, alpha=1e-12, seed=0
    )
    np.testing.assert_array_equal(_top_shares(labels, one_label, 10), 1)

  def test_unbalanced_labels_keep_their_proportions(self):
    labels = np.repeat([0, 1], [900, 100])
    found = partitions.partition_by_dirichlet(
      labels, num_clients=10, alpha=1e6, seed=0
    )
    for indices in found:
      self.assertAlmostEqual(np.mean(labels[indices]), 0.1, delta=0.02)

  def test_minimum_is_met_from_the_largest_clients(self):
    # One label, so sizes alone are at stake: as equal as can be.
    found = partitions.partition_by_dirichlet(
      np.zeros(101, int), num_clients=10, alpha=0.01, seed=0, min_examples=10
    )
    self.assertEqual(sorted(map(len, found)), [10] * 9 + [11])

  @parameterized.parameters(
    (dict(num_clients=0), 'num_clients .*0'),
    (dict(min_examples=0), 'min_examples .*0'),
    (dict(alpha=0), 'alpha .*0'),
    (dict(labels=np.zeros([5, 2])), r'shape \[5, 2\]'),
  )
  def test_bad_arguments(self, changed, regex):
    arguments = dict(labels=np.zeros(10), num_clients=2, alpha=1.0, seed=0)
    with self.assertRaisesRegex(errors.InputError, regex):
      partitions.partition_by_dirichlet(**{**arguments, **changed})


class PartitionLabelsByDirichletTest(parameterized.TestCase):
  @settings(max_examples=50)
  @given(
    num_labels=st.integers(1, 10),
    num_clients=st.integers(1, 16),
    # Of one label and many clients, less would often be given up.
    alpha=st.floats(1.0, 1e9),
    seed=st.integers(0, 1000),
  )
  def test_is_a_partition_with_the_minimum_kept(
    self, num_labels, num_clients, alpha, seed
  ):
    labels = np.arange(3000) % num_labels
    options = dict(num_clients=num_clients, alpha=alpha, seed=seed)
    found = partitions.partition_labels_by_dirichlet(labels, **options)
    self.assertLen(found, num_clients)
    np.testing.assert_array_equal(
      np.sort(np.concatenate(found)), np.arange(len(labels))
    )
    self.assertGreaterEqual(min(map(len, found)), 10)
    again = partitions.partition_labels_by_dirichlet(labels, **options)
    for a, b in zip(found, again):
      np.testing.assert_array_equal(a, b)
      np.testing.assert_array_equal(a, np.sort(a))

  def test_shares_of_a_label_follow_the_dirichlet_distribution(self):
    """The error of the first one, when no client has enough yet."""
    labels = np.repeat([0, 1], [1000, 9000])
    firsts = [
      np.sum(
        labels[
          partitions.partition_labels_by_dirichlet(
            labels, num_clients=4, alpha=0.5, seed=seed, min_examples=1
          )[0]
        ]
        == 0
      )
      / 1000
      for seed in range(300)
    ]
    # One of four shares.
    test = stats.kstest(firsts, stats.beta(0.5, 1.5).cdf)
    self.assertGreater(test.pvalue, 1e-3)

  def test_who_has_enough_gets_no_more(self):
    labels = np.repeat(np.arange(10), 100)
    for seed in range(5):
      found = partitions.partition_labels_by_dirichlet(
        labels, num_clients=4, alpha=0.05, seed=seed
      )
      for indices in found:
        last = labels[indices].max()
        self.assertLess(np.sum(labels[indices] < last), len(labels) / 4)

  def test_gives_up(self):
    with self.assertRaisesRegex(
      errors.InputError, 'alpha 1e-09 have not given'
    ):
      partitions.partition_labels_by_dirichlet(
        np.zeros(40), num_clients=4, alpha=1e-9, seed=0
      )


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
    found = partitions.partition_alike(
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
          partitions.partition_alike(
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
      partitions.partition_alike(labels, others, partition, seed=seed)
      for seed in (0, 0, 1)
    )
    for one, two in zip(first, again):
      np.testing.assert_array_equal(one, two)
    self.assertFalse(
      all(np.array_equal(one, two) for one, two in zip(first, other))
    )

  def test_no_clients(self):
    with self.assertRaisesRegex(errors.InputError, 'clients .*got none'):
      partitions.partition_alike(np.zeros(2), np.zeros(2), [], seed=0)


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
    classes, counts = partitions.count_labels(labels, partition)
    self.assertEqual(list(classes), sorted(set(labels)))
    self.assertEqual(counts.dtype, np.int64)
    for client, row in enumerate(counts):
      expected = collections.Counter(labels[owners == client])
      self.assertEqual(list(row), [expected[label] for label in classes])
    self.assertEqual(
      list(partitions.unassigned_examples(partition, len(labels))),
      [i for i, owner in enumerate(owners) if owner == -1],
    )
