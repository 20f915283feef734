# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the places of clients."""

import collections
import hashlib

from fedfish_tff import errors
from fedfish_tff.datasets.grouping import client_splits

from absl.testing import absltest
from absl.testing import parameterized
from hypothesis import given
from hypothesis import strategies as st


class ClientSplitsTest(parameterized.TestCase):
  @given(st.text(max_size=20), st.integers(-5, 2**40))
  def test_split_of_a_client(self, client_id, seed):
    digits = hashlib.sha256(f'{seed}:{client_id}'.encode()).hexdigest()[:16]
    fraction = int(digits, 16) / 16**16
    splits = client_splits.ClientSplits(
      validation_fraction=0.25, held_out_fraction=0.5, seed=seed
    )
    expected = ('validation', 'held_out', 'held_out', 'train')
    self.assertEqual(splits.place(client_id)[0], expected[int(4 * fraction)])

  def test_only_splits_that_there_are(self):
    self.assertEqual(client_splits.ClientSplits().fractions, {'train': 1})
    self.assertEqual(
      client_splits.ClientSplits(held_out_fraction=0.25).fractions,
      {'held_out': 0.25, 'train': 0.75},
    )

  @parameterized.parameters(
    ({'validation_fraction': -0.1}, 'validation_fraction must be .*, got -0.1'),
    ({'held_out_fraction': 1.0}, 'held_out_fraction must be .*, got 1.0'),
    (
      {'held_out_fraction': float('nan')},
      'held_out_fraction must be .*, got nan',
    ),
    (
      {'validation_fraction': 0.5, 'held_out_fraction': 0.5},
      'must leave clients to train, got 0.5 and 0.5',
    ),
  )
  def test_wrong_fractions(self, fractions, message):
    with self.assertRaisesRegex(errors.InputError, message):
      client_splits.ClientSplits(**fractions)


class PlacementTest(absltest.TestCase):
  def test_buckets_belong_to_the_split_of_their_clients(self):
    splits = client_splits.ClientSplits(
      validation_fraction=0.2, held_out_fraction=0.3, seed=7
    )
    placement = client_splits.plan_placement(
      splits, num_shards=10, total_bytes=1000, bucket_bytes=30
    )
    self.assertEqual(
      placement.shards_of, {'validation': 2, 'held_out': 3, 'train': 5}
    )
    self.assertEqual(placement.num_buckets, 40)
    shards = placement.shards()
    self.assertEqual(
      [bucket for shard in shards for bucket in shard.buckets], list(range(40))
    )
    self.assertEqual(shards[7].file_name, 'held_out-00000-of-00003.tfrecord')
    split_of = {b: s.split for s in shards for b in s.buckets}
    counts = collections.Counter()
    for i in range(4000):
      bucket = placement.bucket_of(f'client {i}')
      self.assertEqual(split_of[bucket], splits.place(f'client {i}')[0])
      counts[bucket] += 1
    # Each bucket has a 40th of them, give or take five deviations.
    self.assertBetween(min(counts.values()), 50, 100)
    self.assertBetween(max(counts.values()), 100, 150)
    self.assertLen(counts, 40)

  def test_each_split_has_a_shard(self):
    placement = client_splits.plan_placement(
      client_splits.ClientSplits(validation_fraction=0.01),
      num_shards=1,
      total_bytes=0,
      bucket_bytes=100,
    )
    self.assertEqual(placement.shards_of, {'validation': 1, 'train': 1})
    self.assertEqual(placement.num_buckets, 2)
