# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of grouping from files to files."""

import collections
import errno
import gzip
import json
import os
import pathlib
import shutil
import struct
from unittest import mock
import urllib.parse

from fedfish_tff import errors
from fedfish_tff.datasets import grouping
from fedfish_tff.datasets.grouping import grouped_dataset
from fedfish_tff.datasets.grouping import input_files
from tests import local_data
from tests.datasets.grouping import web_pages

from absl.testing import parameterized
from pyarrow import parquet
import tensorflow as tf

_SPLITS = grouping.ClientSplits(
  validation_fraction=0.2, held_out_fraction=0.3, seed=5
)


def _host(line):
  """The host of a line, by other means than those under test."""
  netloc = urllib.parse.urlparse(json.loads(line)['url']).netloc
  return netloc.removeprefix('www.')


class _GroupTestCase(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.pages = self.folder / 'pages'
    self.pages.mkdir()

  def _group(self, name='out', *, pattern=None, beam_flags=(), **options):
    folder = self.folder / name
    folder.mkdir(exist_ok=True)
    source = grouping.TextSource(
      format=options.pop('format', 'c4'),
      pattern=pattern or f'{self.pages}/*',
      key=options.pop('key', grouping.ClientKey(name='host')),
    )
    options = {'max_bad_fraction': 0.1, **options}
    grouped = grouping.group(
      source,
      folder,
      options=grouping.GroupingOptions(**options),
      key={'name': 'host'},
      beam_flags=beam_flags,
    )
    return folder, grouped

  def _check_same(self, one, other):
    names = sorted(path.name for path in one.iterdir())
    self.assertEqual(sorted(path.name for path in other.iterdir()), names)
    for name in names:
      self.assertEqual(
        (one / name).read_bytes(), (other / name).read_bytes(), name
      )

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
  def test_made_up_pages(self):
    kinds = web_pages.write_files(self.pages)
    lines = web_pages.good_lines(400)
    folder, grouped = self._group(splits=_SPLITS, num_shards=6)
    rows = self._check_index(folder)
    counts = collections.Counter(map(_host, lines))
    self.assertEqual({k: r['examples'] for k, r in rows.items()}, counts)
    words = collections.Counter()
    for line in lines:
      words[_host(line)] += len(json.loads(line)['text'].split())
    self.assertEqual({k: r['words'] for k, r in rows.items()}, words)
    for client_id, row in rows.items():
      self.assertEqual(row['split'], _SPLITS.split_of(client_id))
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

  def test_how_the_work_is_divided_makes_no_difference(self):
    web_pages.write_files(self.pages)
    one, _ = self._group('one', num_shards=2)
    with mock.patch.object(input_files, '_RANGE_BYTES', 1000):
      other, _ = self._group('other', num_shards=2)
    self._check_same(one, other)

  def test_more_buckets_hold_the_same_clients(self):
    web_pages.write_files(self.pages)
    lines = web_pages.good_lines(400)
    with (
      mock.patch.object(grouped_dataset, '_BUCKET_BYTES', 5000),
      mock.patch.object(grouped_dataset, '_SHARD_BYTES', 20_000),
    ):
      folder, _ = self._group()
    self.assertGreater(len(list(folder.glob('*.tfrecord'))), 1)
    self._check_index(folder)
    self.assertEqual(
      web_pages.read_stock(folder),
      web_pages.count_items(lines, ('url', 'text', 'timestamp')),
    )

  def test_clients_left_out_are_counted(self):
    web_pages.write_files(self.pages)
    counts = collections.Counter(map(_host, web_pages.good_lines(400)))
    folder, grouped = self._group(min_examples=20)
    kept = {k: n for k, n in counts.items() if n >= 20}
    rows = self._check_index(folder)
    self.assertEqual({k: r['examples'] for k, r in rows.items()}, kept)
    self.assertEqual(grouped.small_clients, len(counts) - len(kept))
    self.assertEqual(
      grouped.skipped['too_few_examples'], 400 - sum(kept.values())
    )

  def test_examples_beyond_the_limit_are_counted(self):
    web_pages.write_files(self.pages)
    folder, grouped = self._group(max_client_bytes=2000)
    rows = self._check_index(folder)
    total = sum(row['examples'] for row in rows.values())
    self.assertGreater(grouped.skipped['beyond_client_limit'], 0)
    self.assertEqual(grouped.skipped['beyond_client_limit'], 400 - total)
    self.assertNotEmpty(grouped.named['beyond_client_limit'])
    self.assertContainsSubset(grouped.named['beyond_client_limit'], rows)

  def test_nothing_looks_whole_before_it_is(self):
    web_pages.write_files(self.pages)
    seen = []

    def look(grouped):
      del grouped
      seen.extend(path.name for path in (self.folder / 'out').iterdir())
      raise KeyboardInterrupt

    folder = self.folder / 'out'
    folder.mkdir()
    source = grouping.TextSource(
      format='c4',
      pattern=f'{self.pages}/*',
      key=grouping.ClientKey(name='host'),
    )
    with self.assertRaises(KeyboardInterrupt):
      grouping.group(
        source,
        folder,
        options=grouping.GroupingOptions(max_bad_fraction=1),
        write_more=look,
      )
    self.assertIn('clients.parquet', seen)
    self.assertFalse((folder / 'dataset.json').exists())

  def test_too_many_bad_records(self):
    kinds = web_pages.write_files(self.pages)
    bad = sum(kinds.values())
    limit = bad / (400 + bad)
    self._group('enough', max_bad_fraction=limit)
    with self.assertRaisesRegex(
      errors.InputError,
      f'^{bad} of {400 + bad} records read cannot be used: 2 invalid_url '
      r'\(such as \S+a.jsonl, line \d+\), .*1 truncated_gzip '
      r'\(such as \S+c.json.gz, read up to line \d+\); at most',
    ):
      self._group('few', max_bad_fraction=limit - 1e-6)
    self.assertFalse((self.folder / 'few' / 'dataset.json').exists())

  def test_what_goes_on_is_the_same_work(self):
    web_pages.write_files(self.pages)
    whole, _ = self._group('whole', num_shards=2, min_examples=3)
    with self.assertRaisesRegex(errors.InputError, 'cannot be used'):
      self._group('some', num_shards=2, max_bad_fraction=0.001)
    # Clients are to be placed otherwise, or to be others.
    for options, message in (
      ({'num_shards': 3}, 'which num_shards differ'),
      (
        {'num_shards': 2, 'splits': _SPLITS, 'format': 'cc_news'},
        'which source and features and splits differ',
      ),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        self._group('some', **options)
    modified = (self.pages / 'a.jsonl').stat().st_mtime_ns
    with open(self.pages / 'a.jsonl', 'ab') as file:
      file.write(b'\n')
    with self.assertRaisesRegex(errors.InputError, 'source and files differ'):
      self._group('some', num_shards=2)
    with open(self.pages / 'a.jsonl', 'r+b') as file:
      file.truncate(file.seek(0, 2) - 1)
    os.utime(self.pages / 'a.jsonl', ns=(modified, modified))
    folder, _ = self._group('some', num_shards=2, min_examples=3)
    self._check_same(whole, folder)

  def test_work_whose_removal_fails_is_gone_on_with(self):
    web_pages.write_files(self.pages)
    whole, _ = self._group('whole', num_shards=2)
    remove = shutil.rmtree

    def fail(path, *args, **kwargs):
      if pathlib.Path(path).parts[-2:] == ('work', 'runs'):
        raise OSError(errno.ENOTEMPTY, 'Directory not empty', str(path))
      remove(path, *args, **kwargs)

    with mock.patch.object(shutil, 'rmtree', fail):
      with self.assertRaisesRegex(OSError, 'not empty'):
        self._group('some', num_shards=2)
    self.assertTrue((self.folder / 'some' / 'dataset.json').exists())
    # As one that was killed a little later leaves it.
    (self.folder / 'some' / 'work.done').mkdir()
    folder, _ = self._group('some', num_shards=2)
    self._check_same(whole, folder)

  def test_no_examples(self):
    (self.pages / 'a.json').write_bytes(b'\n\n')
    with self.assertRaisesRegex(errors.InputError, 'The input has no record'):
      self._group('empty')
    (self.pages / 'a.json').write_bytes(b'{}\n')
    with self.assertRaisesRegex(errors.InputError, 'No record of the input'):
      self._group('bad', max_bad_fraction=1)
    (self.pages / 'a.json').write_bytes(web_pages.good_lines(1)[0])
    with self.assertRaisesRegex(
      errors.InputError, 'None of 1 clients has 2 examples'
    ):
      self._group('small', min_examples=2)

  @parameterized.parameters(
    ({'min_examples': 0}, 'min_examples is 0'),
    ({'num_shards': 0}, 'num_shards is 0'),
    ({'max_bad_fraction': 1.5}, 'max_bad_fraction is 1.5'),
    ({'max_bad_fraction': float('nan')}, 'max_bad_fraction is nan'),
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
  def test_counts_are_exact(self, format_name, sample, names):
    (path,) = local_data.find_sample(sample).glob('*.jsonl.gz')
    with gzip.open(path) as file:
      lines = file.readlines()
    folder, grouped = self._group(
      pattern=str(path), format=format_name, splits=_SPLITS, num_shards=4
    )
    self.assertEqual(grouped.skipped, {})
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
