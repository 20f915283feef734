# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the index of a folder of grouped clients."""

import json

from fedfish_tff.datasets import client_index
from fedfish_tff.datasets import folder_writer
from tests import temporary_folders

import numpy as np
import pyarrow as pa
from pyarrow import parquet


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
