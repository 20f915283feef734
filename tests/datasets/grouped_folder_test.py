# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the index of a folder of grouped clients, and of damaged ones."""

import json
import pathlib

from fedfish_tff import errors
from fedfish_tff.datasets import client_index
from fedfish_tff.datasets import folder_writer
from fedfish_tff.datasets import grouped_folder
from tests import grouped_clients
from tests import temporary_folders

from absl.testing import parameterized
import numpy as np
import pyarrow as pa
from pyarrow import parquet
import tensorflow as tf


class GroupedFolderTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._path = grouped_clients.write_folder(
      pathlib.Path(self.create_tempdir().full_path) / 'd',
      {
        'train': grouped_clients.make_texts(5),
        'held_out': {'a.org': ['one two', 'three']},
      },
    )

  def test_whole_folder(self):
    folder = grouped_folder.open_folder(self._path)
    self.assertEqual(folder.features, grouped_clients.TEXT)
    self.assertEqual(
      folder.splits['held_out'],
      grouped_folder.SplitSize(shards=2, clients=1, examples=2, words=3),
    )
    for split in folder.splits:
      folder.check_split(split)
    self.assertEqual(
      folder.shard_path('train', 1),
      self._path / 'train-00001-of-00002.tfrecord',
    )
    self.assertTrue(folder.index_path.is_file())

  def test_not_whole(self):
    (self._path / 'dataset.json').unlink()
    with self.assertRaisesRegex(errors.InputError, 'file .*written last'):
      grouped_folder.open_folder(self._path)

  @parameterized.named_parameters(
    ('cut', '{"format_version": 1, "fea', 'cannot be used: .*Unterminated'),
    ('no_text', b'\xff\xfe', 'cannot be used'),
    ('a_list', '[]', 'an object'),
    ('newer', '{"format_version": 2}', 'format_version must be .*got 2'),
    (
      'lacking',
      '{"format_version": 1, "features": {}}',
      'splits must be .*got None',
    ),
    (
      'odd',
      '{"format_version": 1, "features": {"a": {"dtype": "x", "shape": []}},'
      ' "splits": {}}',
      'cannot be used',
    ),
  )
  def test_bad_description(self, content, regex):
    data = content if isinstance(content, bytes) else content.encode()
    (self._path / 'dataset.json').write_bytes(data)
    with self.assertRaisesRegex(errors.InputError, regex) as caught:
      grouped_folder.open_folder(self._path)
    self.assertNotIn('\n', str(caught.exception))

  def test_missing_split_and_shard(self):
    folder = grouped_folder.open_folder(self._path)
    with self.assertRaisesRegex(
      errors.InputError, "no clients in split 'test'; found held_out, train"
    ):
      folder.check_split('test')
    with self.assertRaisesRegex(
      errors.InputError,
      r"'validation' \(.* --validation_fraction\); found held",
    ):
      folder.check_split('validation')
    folder.shard_path('train', 1).unlink()
    with self.assertRaisesRegex(errors.InputError, 'file .*2'):
      folder.check_split('train')
    folder.check_split('held_out')

  def test_features(self):
    folder = grouped_folder.open_folder(self._path)
    self.assertEqual(
      folder.select_features(('text',)), {'text': tf.TensorSpec([], tf.string)}
    )
    for names, regex in (
      (('text', 'url'), "no feature 'url'; found text"),
      ((), 'at least one name'),
      ('text', "features .*'text'"),
    ):
      with self.assertRaisesRegex(errors.InputError, regex):
        folder.select_features(names)


class FolderWriterTest(temporary_folders.TestCase):
  def _table(self, split, shard, client_ids):
    rows = [
      {
        'client_id': client_id,
        'split': split,
        'shard': shard,
        'offset': 100 * i,
        'record_bytes': 84,
        'examples': len(client_id),
        'words': 10 * len(client_id),
      }
      for i, client_id in enumerate(client_ids)
    ]
    return pa.Table.from_pylist(rows, schema=client_index.INDEX_SCHEMA)

  def test_one_sorted_table(self):
    tables = {
      'train': [
        self._table('train', 0, ['b', 'é', 'a.org']),
        self._table('train', 1, ['a', '\U0001f600', '\uffee']),
      ],
      'held_out': [self._table('held_out', 0, ['z'])],
      'validation': [self._table('validation', 0, [])],
    }
    path = self.folder / 'clients.parquet'
    sizes = folder_writer.write_index(path, tables)
    table = parquet.read_table(path)
    self.assertEqual(
      table['client_id'].to_pylist(),
      ['z', *sorted(['a', 'b', 'é', 'a.org', '\U0001f600', '\uffee'])],
    )
    self.assertEqual(table['split'].to_pylist(), ['held_out'] + ['train'] * 6)
    self.assertEqual(table['shard'].to_pylist(), [0, 1, 0, 0, 0, 1, 1])
    self.assertEqual(
      table.schema.field('split').type, pa.dictionary(pa.int32(), pa.string())
    )
    self.assertEqual(table.schema.field('client_id').type, pa.string())
    self.assertEqual(
      json.loads(parquet.read_metadata(path).metadata[b'fedfish_tff']),
      {'format_version': 1},
    )
    np.testing.assert_array_equal(sizes['train'].examples, [1, 5, 1, 1, 1, 1])
    np.testing.assert_array_equal(sizes['train'].words[:2], [10, 50])
    self.assertEmpty(sizes['validation'].examples)

  def test_row_groups(self):
    names = [f'{i:06d}' for i in range(70_000)]
    path = self.folder / 'clients.parquet'
    folder_writer.write_index(
      path, {'train': [self._table('train', 0, names[::-1])]}
    )
    metadata = parquet.read_metadata(path)
    self.assertEqual(metadata.num_row_groups, 2)
    self.assertEqual(metadata.row_group(0).num_rows, 2**16)
    self.assertEqual(parquet.read_table(path)['client_id'].to_pylist(), names)
