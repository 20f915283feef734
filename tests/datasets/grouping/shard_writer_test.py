# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of writing a shard."""

import itertools
import pathlib
import random
import struct

from fedfish_tff.datasets.grouping import client_splits
from fedfish_tff.datasets.grouping import shard_writer
from fedfish_tff.datasets.grouping import spilled_runs

from absl.testing import absltest
from pyarrow import parquet
import tensorflow as tf

_SHARD = client_splits.Shard(
  split='held_out', number=3, of=5, buckets=range(1, 3)
)


def _example(client, part, position, size=10, words=2):
  return spilled_runs.SpilledExample(
    client.encode(),
    (part, position),
    words,
    f'{part}.{position}'.encode().ljust(size),
  )


def _payloads(record):
  message = tf.train.SequenceExample.FromString(record)
  (values,) = message.feature_lists.feature_list.values()
  return [feature.bytes_list.value[0] for feature in values.feature]


class ShardWriterTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def _write(self, added, *, max_bytes=1000, **limits):
    """Writes (bucket, example) pairs; returns records and index rows by id."""
    writer = spilled_runs.RunWriter(
      self.folder, num_buckets=4, max_bytes=max_bytes
    )
    names = []
    for bucket, example in added:
      writer.add(bucket, example)
      if writer.is_full:
        names.append(writer.flush())
    names += filter(None, [writer.flush()])
    report = shard_writer.write_shard(
      _SHARD,
      runs=[self.folder / name for name in names],
      num_buckets=4,
      limits=shard_writer.ShardLimits(**limits),
      folder=self.folder,
      index_folder=self.folder,
    )
    self.path = self.folder / 'held_out-00003-of-00005.tfrecord'
    rows = parquet.read_table(f'{self.path}.parquet').to_pylist()
    content = self.path.read_bytes()
    records = {}
    for row in rows:
      start = row['offset']
      (length,) = struct.unpack('<Q', content[start : start + 8])
      self.assertEqual(length, row['record_bytes'])
      records[row['client_id']] = content[start + 12 : start + 12 + length]
    stock = [r.numpy() for r in tf.data.TFRecordDataset(str(self.path))]
    self.assertEqual(list(records.values()), stock)
    return records, rows, report

  def test_records_and_index(self):
    records, rows, report = self._write(
      [
        (1, _example('b', 0, 5)),
        (2, _example('a', 0, 6)),
        (0, _example('of another shard', 0, 7)),
        (1, _example('Zoë', 1, 1)),
        (1, _example('b', 0, 2)),
      ]
    )
    # Bucket after bucket, ids in order.
    # As UTF-8: capital letters come first.
    self.assertEqual(list(records), ['Zoë', 'b', 'a'])
    self.assertEqual(
      _payloads(records['b']), [b'0.2'.ljust(10), b'0.5'.ljust(10)]
    )
    self.assertEqual({row['split'] for row in rows}, {'held_out'})
    self.assertEqual({row['shard'] for row in rows}, {3})
    self.assertEqual([row['examples'] for row in rows], [1, 2, 1])
    self.assertEqual([row['words'] for row in rows], [2, 4, 2])
    self.assertEqual(report, shard_writer.ShardReport())
    left = {p.suffix for p in self.folder.iterdir()}
    self.assertEqual(left, {'.run', '.tfrecord', '.parquet'})

  def test_whoever_reads_the_parts_records_are_the_same(self):
    added = [
      (1 + i % 7 % 2, _example(f'client {i % 7}', i % 3, i)) for i in range(60)
    ]
    contents = set()
    for seed in range(4):
      random.Random(seed).shuffle(added)
      self._write(added, max_bytes=100 + 900 * seed)
      contents.add(self.path.read_bytes())
    self.assertLen(contents, 1)

  def test_small_clients_are_left_out(self):
    records, _, report = self._write(
      [(1, _example(client, 0, i)) for i, client in enumerate('abbccc')],
      min_examples=3,
    )
    self.assertEqual(list(records), ['c'])
    self.assertEqual(report.small_clients, 2)
    self.assertEqual(report.small_client_examples, 3)

  def test_of_large_clients_the_first_examples_are_kept(self):
    examples = [
      (1, _example('large', 0, i, size=10 + i % 7)) for i in range(40)
    ]
    fits = list(
      itertools.takewhile(
        lambda total: total <= 300,
        itertools.accumulate(len(e.serialized) + 24 for _, e in examples),
      )
    )
    found = set()
    for seed in range(5):
      random.Random(seed).shuffle(examples)
      records, rows, report = self._write(
        [*examples, (1, _example('small', 0, 99))], max_client_bytes=300
      )
      self.assertLen(_payloads(records['large']), len(fits))
      self.assertEqual(rows[0]['examples'], len(fits))
      self.assertEqual(report.excess_examples, 40 - len(fits))
      self.assertEqual(report.large_clients, ['large'])
      self.assertLen(_payloads(records['small']), 1)
      found.add(records['large'])
    self.assertLen(found, 1)

  def test_a_client_whose_first_example_is_too_large(self):
    records, _, report = self._write(
      [(1, _example('large', 0, 0, size=500)), (1, _example('large', 0, 1))],
      max_client_bytes=300,
    )
    self.assertEmpty(records)
    self.assertEqual(report.excess_examples, 2)

  def test_a_record_is_no_larger_than_the_limit(self):
    for size in (0, 1, 100, 200, 20_000):
      examples = [(1, _example('a', 0, i, size=size)) for i in range(100)]
      limit = 100 * (len(examples[-1][1].serialized) + 24)
      _, rows, _ = self._write(examples, max_client_bytes=limit)
      self.assertLessEqual(rows[0]['record_bytes'], limit + 100)

  def test_no_clients(self):
    records, rows, _ = self._write([])
    self.assertEqual((records, rows), ({}, []))
