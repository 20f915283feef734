# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the division into shards of sorted labels."""

import collections

from fedfish_tff import errors
from fedfish_tff.datasets import partitions
from fedfish_tff.datasets import shards
from tests import tolerance

from absl.testing import parameterized
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np
from scipy import sparse
from scipy import stats
from scipy.sparse import csgraph

_LABELS = st.lists(st.integers(-2, 5), min_size=1, max_size=120).map(np.array)


def _assert_partition(test, labels, found, num_clients):
  test.assertLen(found, num_clients)
  np.testing.assert_array_equal(
    np.sort(np.concatenate(found)), np.arange(len(labels))
  )
  for indices in found:
    np.testing.assert_array_equal(indices, np.sort(indices))


def _can_be_dealt(counts, num_clients, classes_per_client):
  """Returns whether each client can get so many classes: a maximum flow."""
  num_labels = len(counts)
  source, sink = num_labels + num_clients, num_labels + num_clients + 1
  capacity = np.zeros((sink + 1, sink + 1), np.int32)
  capacity[source, :num_labels] = counts
  capacity[:num_labels, num_labels:source] = 1
  capacity[num_labels:source, sink] = classes_per_client
  flow = csgraph.maximum_flow(sparse.csr_matrix(capacity), source, sink)
  needed = num_clients * classes_per_client
  # Every class needs a client as well, since no example is left out.
  return flow.flow_value == needed and needed >= num_labels


def _smallest_largest_shard(counts, num_clients, num_shards):
  """The least size that the largest shard can have, by trying all sizes."""
  for size in range(1, counts.max() + 1):
    needed = -(-counts // size)
    if (needed <= num_clients).all() and needed.sum() <= num_shards:
      return size
  raise AssertionError('Not even one shard a label.')


class PartitionByShardsTest(parameterized.TestCase):
  @settings(max_examples=100)
  @given(
    labels=_LABELS,
    num_clients=st.integers(1, 12),
    shards_per_client=st.integers(1, 4),
    seed=st.integers(0, 1000),
  )
  def test_shards_are_equal_pieces_of_the_sorted_examples(
    self, labels, num_clients, shards_per_client, seed
  ):
    options = dict(
      num_clients=num_clients, shards_per_client=shards_per_client, seed=seed
    )
    num_shards = num_clients * shards_per_client
    if num_shards > len(labels):
      with self.assertRaisesRegex(errors.InputError, 'cannot give'):
        shards.partition_by_shards(labels, **options)
      return
    found = shards.partition_by_shards(labels, **options)
    _assert_partition(self, labels, found, num_clients)
    least = len(labels) // num_shards
    _, counts = partitions.count_labels(labels, found)
    pieces = [np.unique(p) for p in np.array_split(np.sort(labels), num_shards)]
    for indices, row in zip(found, counts):
      self.assertBetween(
        len(indices), shards_per_client * least, shards_per_client * (least + 1)
      )
      most = sum(sorted(map(len, pieces))[-shards_per_client:])
      self.assertLessEqual(np.count_nonzero(row), most)
    again = shards.partition_by_shards(labels, **options)
    tolerance.assert_same(found, again)

  @settings(max_examples=200)
  @given(
    labels=_LABELS,
    num_clients=st.integers(1, 12),
    classes_per_client=st.integers(1, 4),
    seed=st.integers(0, 1000),
  )
  def test_clients_have_exactly_so_many_classes(
    self, labels, num_clients, classes_per_client, seed
  ):
    _, counts = np.unique(labels, return_counts=True)
    options = dict(
      num_clients=num_clients, classes_per_client=classes_per_client, seed=seed
    )
    if not _can_be_dealt(counts, num_clients, classes_per_client):
      with self.assertRaisesRegex(errors.InputError, 'classes'):
        shards.partition_by_shards(labels, **options)
      return
    found = shards.partition_by_shards(labels, **options)
    _assert_partition(self, labels, found, num_clients)
    _, by_client = partitions.count_labels(labels, found)
    np.testing.assert_array_equal(
      np.count_nonzero(by_client, axis=1), classes_per_client
    )
    self.assertEqual(
      by_client.max(),
      _smallest_largest_shard(
        counts, num_clients, num_clients * classes_per_client
      ),
    )
    again = shards.partition_by_shards(labels, **options)
    tolerance.assert_same(found, again)

  def test_the_papers_mnist_partition(self):
    # 200 shards of 300, two for each of 100 clients; labels of 6,000.
    labels = np.random.default_rng(0).permutation(np.arange(60_000) % 10)
    same = 0
    for seed in range(5):
      found = shards.partition_by_shards(
        labels, num_clients=100, shards_per_client=2, seed=seed
      )
      self.assertEqual({len(indices) for indices in found}, {600})
      _, counts = partitions.count_labels(labels, found)
      self.assertEqual(set(np.unique(counts)), {0, 300, 600})
      same += np.count_nonzero(counts == 600)
    # The second of a client's shards has the first one's label in 19 of 199.
    self.assertGreater(stats.binomtest(same, 500, 19 / 199).pvalue, 0.01)

  def test_all_deals_are_equally_likely(self):
    # 4 clients, 4 classes of two shards: 90 matrices of zeros and ones have
    # all rows and columns of sum 2.
    labels = np.arange(8) % 4
    seen = collections.Counter()
    for seed in range(3600):
      found = shards.partition_by_shards(
        labels, num_clients=4, classes_per_client=2, seed=seed
      )
      _, counts = partitions.count_labels(labels, found)
      seen[counts.tobytes()] += 1
    self.assertLen(seen, 90)
    self.assertGreater(stats.chisquare(list(seen.values())).pvalue, 0.01)

  def test_shards_of_labels_that_differ_in_size(self):
    labels = np.repeat([0, 1, 2], [900, 90, 10])
    found = shards.partition_by_shards(
      labels, num_clients=10, classes_per_client=2, seed=0
    )
    _, counts = partitions.count_labels(labels, found)
    # No client twice for the frequent label, whose shards so are larger.
    np.testing.assert_array_equal(np.count_nonzero(counts, axis=0), [10, 9, 1])
    np.testing.assert_array_equal(counts[:, 0], 90)

  def test_examples_of_a_label_are_dealt_at_random(self):
    labels = np.zeros(1000, int)
    found = shards.partition_by_shards(
      labels, num_clients=2, classes_per_client=1, seed=0
    )
    half = np.count_nonzero(found[0] < 500)
    self.assertGreater(
      stats.hypergeom(1000, 500, 500).sf(abs(half - 250) + 249), 0.001
    )
    self.assertFalse(
      np.array_equal(
        found[0],
        shards.partition_by_shards(
          labels, num_clients=2, classes_per_client=1, seed=1
        )[0],
      )
    )

  @parameterized.parameters(
    (dict(classes_per_client=2, shards_per_client=2), 'Exactly one'),
    (dict(), 'Exactly one'),
    (dict(shards_per_client=0), 'shards_per_client .*0'),
    (dict(classes_per_client=1.5), 'classes_per_client .*1.5'),
    (dict(shards_per_client=6), '10 examples cannot give 2 clients'),
    (dict(classes_per_client=6), 'classes_per_client .*5, got'),
    (dict(classes_per_client=2), 'cannot hold all 5 classes'),
    (
      dict(num_clients=3, classes_per_client=5),
      'with 2 examples cannot give 3 clients 5 classes each',
    ),
    (dict(num_clients=0, classes_per_client=1), 'num_clients .*0'),
    (dict(labels=[], classes_per_client=1), 'shape'),
  )
  def test_bad_arguments(self, changed, regex):
    arguments = dict(labels=np.arange(10) % 5, num_clients=2, seed=0)
    with self.assertRaisesRegex(errors.InputError, regex):
      shards.partition_by_shards(**{**arguments, **changed})
