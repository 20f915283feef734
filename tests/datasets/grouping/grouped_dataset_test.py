# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of grouping from files to files."""

import collections
import gzip
import json
import os
import struct
from unittest import mock
import urllib.parse

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff.datasets import folder_writer
from fedfish_tff.datasets import grouping
from fedfish_tff.datasets.grouping import grouped_dataset
from fedfish_tff.datasets.grouping import input_files
from fedfish_tff.datasets.grouping import local_engine
from fedfish_tff.datasets.grouping import work
from tests import local_data
from tests.datasets.grouping import web_pages

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
from pyarrow import parquet
import pytest
import tensorflow as tf

_DIRECT = {'beam_flags': ['--runner=DirectRunner']}
_SPLITS = grouping.ClientSplits(
  validation_fraction=0.2, held_out_fraction=0.3, seed=5
)


def _host(line):
  """The host of a line, by other means than those under test."""
  netloc = urllib.parse.urlparse(json.loads(line)['url']).netloc
  return netloc.removeprefix('www.')


class _GroupTestCase(web_pages.TestCase):
  def _check_same(self, one, other):
    names = sorted(path.name for path in one.iterdir())
    self.assertEqual(sorted(path.name for path in other.iterdir()), names)
    for name in names:
      self.assertEqual(
        (one / name).read_bytes(), (other / name).read_bytes(), name
      )

  def _check_order(self, folder, lines):
    """Checks that a client's examples are in the order of the source."""
    urls = collections.defaultdict(list)
    for line in lines:
      urls[_host(line)].append(json.loads(line)['url'])
    for split in json.loads((folder / 'dataset.json').read_text())['splits']:
      clients = datasets.GroupedClientData(folder, split, features=['url'])
      for client_id in clients.client_ids:
        found = clients.load_client(client_id)['url'].tolist()
        self.assertEqual([url.decode() for url in found], urls[client_id])

  def _check_index(self, folder):
    """Checks that each row leads to its record; returns rows by id."""
    table = parquet.read_table(folder / 'clients.parquet')
    rows = table.to_pylist()
    described = json.loads((folder / 'dataset.json').read_text())
    features = grouping.features_from_json(described['features'])
    order = [(row['split'], row['client_id']) for row in rows]
    self.assertEqual(order, sorted(order))
    for row in rows:
      shards = described['splits'][row['split']]['shards']
      name = f'{row["split"]}-{row["shard"]:05d}-of-{shards:05d}.tfrecord'
      with open(folder / name, 'rb') as file:
        file.seek(row['offset'])
        (length,) = struct.unpack('<Q4x', file.read(12))
        record = file.read(length)
      self.assertEqual(length, row['record_bytes'])
      message = tf.train.SequenceExample.FromString(record)
      (values,) = message.feature_lists.feature_list.values()
      examples = [
        features.deserialize_example(f.bytes_list.value[0])
        for f in values.feature[:3]
      ]
      self.assertLen(values.feature, row['examples'])
      for example in examples:
        host = urllib.parse.urlparse(example['url'].numpy().decode()).netloc
        self.assertEqual(host.removeprefix('www.'), row['client_id'])
    for split, counts in described['splits'].items():
      of_split = [row for row in rows if row['split'] == split]
      self.assertLen(of_split, counts['clients'])
      for name in ('examples', 'words'):
        self.assertEqual(sum(row[name] for row in of_split), counts[name])
      self.assertLen(list(folder.glob(f'{split}-*.tfrecord')), counts['shards'])
    return {row['client_id']: row for row in rows}


class GroupTest(_GroupTestCase):
  def test_generated_pages(self):
    kinds = web_pages.write_files(self.pages)
    lines = web_pages.good_lines(400)
    folder, grouped = self.group(splits=_SPLITS, num_shards=6)
    rows = self._check_index(folder)
    counts = collections.Counter(map(_host, lines))
    self.assertEqual({k: r['examples'] for k, r in rows.items()}, counts)
    words = collections.Counter()
    for line in lines:
      words[_host(line)] += len(json.loads(line)['text'].split())
    self.assertEqual({k: r['words'] for k, r in rows.items()}, words)
    for client_id, row in rows.items():
      self.assertEqual(row['split'], _SPLITS.place(client_id)[0])
    self.assertEqual(
      web_pages.read_stock(folder),
      web_pages.count_items(lines, ('url', 'text', 'timestamp')),
    )
    self.assertEqual(grouped.skipped, kinds)
    described = json.loads((folder / 'dataset.json').read_text())
    self.assertEqual(described['skipped'], kinds)
    self.assertEqual(described['format_version'], 1)
    self.assertEqual(described['key'], {'name': 'host'})
    self.assertEqual(described['source']['files'], 3)
    self.assertEqual(
      set(described['splits']), {'train', 'validation', 'held_out'}
    )
    self.assertEqual(
      {p.suffix for p in folder.iterdir()}, {'.tfrecord', '.parquet', '.json'}
    )

  @parameterized.parameters((1, 2 * 10**9), (7, 2500))
  def test_engines_and_the_division_of_work_make_no_difference(
    self, min_examples, max_client_bytes
  ):
    web_pages.write_files(self.pages)
    options = {
      'num_shards': 4,
      'splits': _SPLITS,
      'min_examples': min_examples,
    }
    with (
      mock.patch.object(grouped_dataset, '_BUCKET_BYTES', 20_000),
      mock.patch.object(work, '_MAX_CLIENT_BYTES', max_client_bytes),
    ):
      one, grouped = self.group('one', **options)
      beam, by_beam = self.group('beam', engine=_DIRECT, **options)
      with (
        mock.patch.object(input_files, '_RANGE_BYTES', 1000),
        mock.patch.object(local_engine, '_HELD_BYTES', 2000),
        mock.patch.object(local_engine, '_LARGE_CLIENT_BYTES', 2000),
      ):
        other, _ = self.group('other', **options)
    self._check_same(one, beam)
    self._check_same(one, other)
    self.assertEqual(grouped.statistics(), by_beam.statistics())

  @pytest.mark.thorough
  def test_processes_make_no_difference(self):
    web_pages.write_files(self.pages)
    one, _ = self.group('one', num_shards=3)
    many, _ = self.group('many', num_shards=3, engine={'num_processes': 3})
    self._check_same(one, many)
    with self.assertRaisesRegex(errors.InputError, 'records read cannot be'):
      self.group('bad', max_bad_fraction=0.0, engine={'num_processes': 2})

  def test_a_shard_without_clients(self):
    (self.pages / 'a.json').write_bytes(web_pages.good_lines(1)[0])
    one, _ = self.group('one', num_shards=9)
    beam, _ = self.group('beam', num_shards=9, engine=_DIRECT)
    self._check_same(one, beam)
    self.assertLen(self._check_index(one), 1)
    with self.assertRaisesRegex(
      errors.InputError, r'at most the size .*, \d+B, got 1000000\.'
    ):
      self.group('many', num_shards=1_000_000)

  def test_more_buckets_hold_the_same_clients(self):
    web_pages.write_files(self.pages)
    lines = web_pages.good_lines(400)
    with (
      mock.patch.object(grouped_dataset, '_BUCKET_BYTES', 5000),
      mock.patch.object(grouped_dataset, '_SHARD_BYTES', 20_000),
    ):
      folder, _ = self.group()
    self.assertGreater(len(list(folder.glob('*.tfrecord'))), 1)
    self._check_index(folder)
    self.assertEqual(
      web_pages.read_stock(folder),
      web_pages.count_items(lines, ('url', 'text', 'timestamp')),
    )

  def test_nothing_looks_whole_before_it_is(self):
    web_pages.write_files(self.pages)
    seen = []

    def look(grouped):
      del grouped
      seen.extend(path.name for path in (self.folder / 'out').iterdir())
      raise KeyboardInterrupt

    with self.assertRaises(KeyboardInterrupt):
      self.group(engine={'write_more': look})
    self.assertIn('clients.parquet', seen)
    self.assertFalse((self.folder / 'out' / 'dataset.json').exists())

  def test_too_many_bad_records(self):
    kinds = web_pages.write_files(self.pages)
    bad = sum(kinds.values())
    limit = bad / (400 + bad)
    self.group('enough', max_bad_fraction=limit)
    with self.assertRaisesRegex(
      errors.InputError,
      f'^{bad} of {400 + bad} records read cannot be used: 2 invalid_url '
      r'\(such as \S+a.jsonl, line \d+\), .*1 truncated_gzip '
      r'\(such as \S+c.json.gz, read up to line \d+\); at most',
    ):
      self.group('few', max_bad_fraction=limit - 1e-6)
    self.assertFalse((self.folder / 'few' / 'dataset.json').exists())

  def test_what_goes_on_is_the_same_work(self):
    web_pages.write_files(self.pages)
    whole, _ = self.group('whole', num_shards=2, min_examples=3)
    with self.assertRaisesRegex(errors.InputError, 'cannot be used'):
      self.group('some', num_shards=2, max_bad_fraction=0.001)
    # Clients are to be placed otherwise, or to be others.
    for options, message in (
      ({'num_shards': 3}, 'which num_shards differ'),
      (
        {'num_shards': 2, 'splits': _SPLITS, 'format': 'cc_news'},
        'which source and features and splits differ',
      ),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        self.group('some', **options)
    modified = (self.pages / 'a.jsonl').stat().st_mtime_ns
    with open(self.pages / 'a.jsonl', 'ab') as file:
      file.write(b'\n')
    with self.assertRaisesRegex(errors.InputError, 'source and files differ'):
      self.group('some', num_shards=2)
    with open(self.pages / 'a.jsonl', 'r+b') as file:
      file.truncate(file.seek(0, 2) - 1)
    os.utime(self.pages / 'a.jsonl', ns=(modified, modified))
    folder, _ = self.group('some', num_shards=2, min_examples=3)
    self._check_same(whole, folder)

  def test_no_examples(self):
    (self.pages / 'a.json').write_bytes(b'\n\n')
    with self.assertRaisesRegex(
      errors.InputError, 'The input must have records'
    ):
      self.group('empty')
    (self.pages / 'a.json').write_bytes(b'{}\n')
    with self.assertRaisesRegex(errors.InputError, 'No record of the input'):
      self.group('bad', max_bad_fraction=1)
    (self.pages / 'a.json').write_bytes(web_pages.good_lines(1)[0])
    with self.assertRaisesRegex(
      errors.InputError, 'None of 1 clients has 2 examples'
    ):
      self.group('small', min_examples=2)

  @parameterized.parameters(
    ({'min_examples': 0}, 'min_examples must be a positive integer, got 0'),
    ({'num_shards': 0}, 'num_shards must be .*, got 0'),
    ({'max_bad_fraction': 1.5}, 'max_bad_fraction must be .*, got 1.5'),
    (
      {'max_bad_fraction': float('nan')},
      'max_bad_fraction must be .*, got nan',
    ),
  )
  def test_wrong_options(self, options, message):
    with self.assertRaisesRegex(errors.InputError, message):
      grouping.GroupingOptions(**options)


class RealDataTest(_GroupTestCase):
  """The samples of C4 and of news, against a Counter over their lines."""

  @parameterized.parameters(
    ('c4', 'c4_sample', ('url', 'text', 'timestamp')),
    (
      'cc_news',
      'allsides_news',
      ('url', 'domain', 'title', 'text', 'date'),
    ),
  )
  @pytest.mark.thorough
  def test_counts_are_exact(self, format_name, sample, names):
    (path,) = local_data.find_sample(sample).glob('*.jsonl.gz')
    with gzip.open(path) as file:
      lines = file.readlines()
    options = {'format': format_name, 'splits': _SPLITS, 'num_shards': 4}
    folder, grouped = self.group(pattern=str(path), **options)
    self.assertEqual(grouped.skipped, {})
    beam, _ = self.group('beam', pattern=str(path), engine=_DIRECT, **options)
    self._check_same(folder, beam)
    self._check_order(folder, lines)
    rows = self._check_index(folder)
    self.assertEqual(
      {client_id: row['examples'] for client_id, row in rows.items()},
      collections.Counter(map(_host, lines)),
    )
    self.assertEqual(
      web_pages.read_stock(folder), web_pages.count_items(lines, names)
    )
    self.assertEqual(
      sum(row['words'] for row in rows.values()),
      sum(len(json.loads(line)['text'].split()) for line in lines),
    )
    if format_name == 'c4':
      self.assertLen(rows, len(set(map(_host, lines))))
    else:
      self.assertEqual(
        set(rows), {json.loads(line)['domain'] for line in lines}
      )


class SummaryTest(absltest.TestCase):
  def test_counts_and_quantiles(self):
    examples = np.arange(1, 101)
    sizes = [
      folder_writer.ClientSizes(examples=part, words=part * 3)
      for part in (examples[60:], examples[:60])
    ]
    summary = grouped_dataset._summarize(sizes)
    self.assertEqual(
      (summary['clients'], summary['examples'], summary['words']),
      (100, 5050, 15150),
    )
    self.assertEqual(
      summary['examples_per_client'],
      {
        'mean': 50.5,
        'min': 1,
        'p10': 10,
        'p25': 25,
        'median': 50,
        'p75': 75,
        'p90': 90,
        'p99': 99,
        'max': 100,
      },
    )
    self.assertEqual(summary['words_per_client']['median'], 150)
    json.dumps(summary)

  def test_no_clients(self):
    none = np.zeros(0, np.int64)
    summary = grouped_dataset._summarize(
      [folder_writer.ClientSizes(examples=none, words=none)]
    )
    self.assertEqual(summary['clients'], 0)
    self.assertEqual(summary['examples_per_client'], {})
