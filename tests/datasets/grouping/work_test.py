# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what both engines do."""

import pathlib
from unittest import mock

from fedfish_tff.datasets.grouping import client_splits
from fedfish_tff.datasets.grouping import work as work_lib

from absl.testing import parameterized
import dataset_grouper
import numpy as np
import tensorflow as tf
import tensorflow_datasets as tfds


def _client(client_id, examples):
  return work_lib.Client(
    client_id=client_id,
    sizes=np.array([len(example) for example in examples], np.int64),
    words=np.arange(len(examples)),
    examples=examples,
  )


class WriteShardTest(parameterized.TestCase):
  def _write(self, clients, **options):
    folder = pathlib.Path(self.create_tempdir().full_path)
    placement = client_splits.plan_placement(
      client_splits.ClientSplits(), num_shards=1, total_bytes=1, bucket_bytes=1
    )
    work = work_lib.Work(
      source=None,
      placement=placement,
      options=work_lib.GroupingOptions(**options),
      total_size=1,
      folder=str(folder),
    )
    (shard,) = placement.shards()
    counts = work.write_shard(
      shard, [_client(name, examples) for name, examples in clients.items()]
    )
    stock = dataset_grouper.PartitionedDataset(
      f'{folder}/train-*.tfrecord', tfds.features.FeaturesDict({})
    )
    records = tf.data.TFRecordDataset(work.shard_path(shard))
    return counts, [
      stock.decode_bytes(record).numpy().tolist() for record in records
    ]

  def test_small_clients(self):
    counts, found = self._write(
      {'a': [b'1'], 'b': [b'2', b'3'], 'c': [b'4']}, min_examples=2
    )
    self.assertEqual(found, [[b'2', b'3']])
    self.assertEqual(counts.small_clients, 2)
    self.assertEqual(counts.skipped, {'too_few_examples': 2})

  @parameterized.parameters(1, 34, 60, 98, 122, 151, 177, 178, 10**6)
  def test_the_limit_is_that_of_dataset_grouper(self, limit):
    examples = [b'a' * size for size in (10, 40, 0, 5, 2)]
    # Each needs 24 bytes besides.
    merge = dataset_grouper.beam.MergeWithLimitFn(limit)
    expected = [
      example[24:] for example in merge.apply([b'-' * 24 + e for e in examples])
    ]
    with mock.patch.object(work_lib, '_MAX_CLIENT_BYTES', limit):
      counts, found = self._write({'a': examples})
    self.assertEqual(found, [expected] if expected else [])
    excess = len(examples) - len(expected)
    self.assertEqual(counts.skipped.get('beyond_client_limit', 0), excess)
    self.assertEqual(
      counts.names(), {'beyond_client_limit': ['a']} if excess else {}
    )
