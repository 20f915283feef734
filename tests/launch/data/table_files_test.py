# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of reading the files of tables."""

import decimal
import gzip
import os
from unittest import mock

from fedfish_tff import errors
from launch.data import table_files
from tests import temporary_folders

from absl.testing import parameterized
import numpy as np
import pyarrow as pa

_CSV = b'a,b\n1,0.5\n2,1\n'
_LATIN = b'a,b\n' + b'1,x\n' * 9999 + '1,ä\n'.encode('latin1')
_ROWS = {'a': [1, 2], 'b': [0.5, 1]}


class TableFilesTest(temporary_folders.TestCase):
  def _write(self, name, content):
    path = self.folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path

  def _read(self, path, texts=(), split='train'):
    self.assertTrue(table_files.is_table(str(path)))
    return table_files.read(path, split, texts)

  @parameterized.named_parameters(
    ('semicolons', 't.csv', _CSV.replace(b',', b';')),
    ('tabs', 't.csv', _CSV.replace(b',', b'\t')),
    ('tsv', 't.tsv', _CSV.replace(b',', b'\t')),
    ('byte_order_mark', 't.csv', b'\xef\xbb\xbf' + _CSV),
    ('capitals', 'T.CSV', _CSV),
    ('gzip', 't.csv.gz', gzip.compress(_CSV)),
    ('old_line_ends', 't.csv', _CSV.replace(b'\n', b'\r\n')),
    ('json', 't.jsonl', b'{"a": 1, "b": 0.5}\n{"b": 1, "a": 2}\n'),
  )
  def test_forms_of_text(self, name, content):
    self.assertEqual(self._read(self._write(name, content)).to_pydict(), _ROWS)

  def test_the_first_line_tells_the_delimiter(self):
    table = self._read(self._write('t.csv', b'"a;b","c\nd"\n1,2\n'))
    self.assertEqual(table.to_pydict(), {'a;b': [1], 'c\nd': [2]})
    table = self._read(self._write('t.csv', b'"a";"b,c"\n1;2\n'))
    self.assertEqual(table.to_pydict(), {'a': [1], 'b,c': [2]})
    table = self._read(self._write('t.csv', b'\xef\xbb\xbf"b,c";a\n2;1\n'))
    self.assertEqual(table.to_pydict(), {'b,c': [2], 'a': [1]})

  @parameterized.named_parameters(
    ('text', 'said ""ok"",\nnext line ' + 'x' * 40),
    ('table', 'h1,2\nh2,3\nh3,'),
  )
  def test_line_ends_in_quotes(self, note):
    num_rows = 50_000
    rows = ''.join(f'{i},"{note}"\n' for i in range(num_rows))
    path = self._write('t.csv', f'n,note\n{rows}'.encode())
    # As in a file of more than 2 GiB.
    with mock.patch.object(table_files, '_MOST_BLOCK_BYTES', 2**18):
      table = self._read(path)
    np.testing.assert_array_equal(table['n'], np.arange(num_rows))
    self.assertEqual(set(table['note'].to_pylist()), {note.replace('""', '"')})

  def test_a_long_text(self):
    # Arrow's blocks have 2^20 bytes by default; here the first ends in a \r.
    text = 'x' * (2**20 - 8) + '\r\n' + 'x' * 2**20
    path = self._write('t.csv', f'a,b\n1,"{text}"\n'.encode())
    self.assertEqual(path.read_bytes()[2**20 - 1 : 2**20 + 1], b'\r\n')
    self.assertEqual(self._read(path)['b'].to_pylist(), [text])

  def test_files_of_arrow(self):
    halves = pa.array(np.float16([1, 2]))
    cents = pa.array([decimal.Decimal('1.25')] * 2, pa.decimal128(9, 2))
    whole = pa.array([decimal.Decimal(3)] * 2, pa.decimal128(38, 0))
    words = pa.array(['u', None])
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 1]), words)
    nested = pa.array([[h] for h in halves], pa.list_(pa.float16()))
    fixed = pa.array([[c] for c in cents], pa.list_(cents.type, 1))
    columns = [halves, cents, whole, codes, nested, fixed]
    table = pa.table(columns, list('hcwdnf'), metadata={'k': 'v'})
    path = self.folder / 't.arrow'
    with pa.ipc.new_file(str(path), table.schema) as writer:
      writer.write_table(table)
    read = self._read(path)
    self.assertEqual(
      read.to_pydict(),
      {
        'h': [1, 2],
        'c': [1.25, 1.25],
        'w': [3, 3],
        'd': ['u', None],
        'n': [[1], [2]],
        'f': [[1.25], [1.25]],
      },
    )
    self.assertEqual(read.schema.metadata, {b'k': b'v'})
    self.assertEqual(read['d'].null_count, 1)
    self.assertEqual(read['w'].type, pa.int64())

  def test_parts_of_spark(self):
    for name, content in {
      'part-00000-1f.c000.csv': b'a,b\n1,2\n',
      'part-00001-1f.c000.csv': b'b,a\n0.5,3\n',
      '_SUCCESS': b'',
      '._part-00000.csv': b'\0',
    }.items():
      self._write(f'd/{name}', content)
    table = self._read(self.folder / 'd')
    self.assertEqual(table.to_pydict(), {'a': [1, 3], 'b': [2, 0.5]})

  @parameterized.named_parameters(
    ('columns', b'a\n1\n', 'same columns, got b in some alone'),
    ('types', b'a,b\n1,x\n', 'same types of columns: .* double vs string'),
  )
  def test_parts_that_differ(self, content, regex):
    self._write('d/part-0.csv', _CSV)
    self._write('d/part-1.csv', content)
    with self.assertRaisesRegex(errors.InputError, regex):
      self._read(self.folder / 'd')

  @parameterized.named_parameters(
    ('open_quotes', 't.csv', b'a,b\n1,"x\n2,y\n', 'close each .* in row 2'),
    ('lone_quotes', 't.csv', b'a,b\n1,"x\n2,"y\n', 'close each .* in row 2'),
    ('latin_names', 't.csv', 'ä,b\n1,2\n'.encode('latin1'), 'in UTF-8'),
    ('latin_cells', 't.csv', _LATIN, "UTF-8, got .* column 'b'"),
    ('utf_16', 't.csv', 'a,b\n1,2\n'.encode('utf-16'), 'in UTF-8'),
    ('no_gzip', 't.csv.gz', _CSV, 'Not a gzipped file'),
    ('cut', 't.csv.gz', gzip.compress(_CSV)[:-3], 'file ended before'),
    ('excel', 't.xlsx', b'PK', r'must end in one of \.csv, .*, got .*t\.xlsx'),
    (
      'mixed',
      't.jsonl',
      b'{"a": 1}\n{"a": "b"}\n',
      'number to string in row 1',
    ),
  )
  def test_refused(self, name, content, regex):
    path = self._write(name, content)
    with self.assertRaisesRegex(errors.InputError, regex):
      self._read(path)

  def test_files_that_are_not_of_the_split(self):
    self._write('d/train.csv', _CSV)
    self._write('d/train.old.csv', _CSV)
    self.assertLen(self._read(self.folder / 'd'), 2)
    self._write('d/train.csv.gz', gzip.compress(_CSV))
    with self.assertRaisesRegex(errors.InputError, 'train.csv, train.csv.gz;'):
      self._read(self.folder / 'd')
    self._write('e/test.csv', _CSV)
    with self.assertRaisesRegex(errors.InputError, "test.csv, got 'train'"):
      self._read(self.folder / 'e')
    self.assertLen(self._read(self.folder / 'e', split='test'), 2)

  def test_a_pipe_is_not_waited_for(self):
    os.mkfifo(self.folder / 't.csv')
    with self.assertRaisesRegex(errors.InputError, 't.csv .* Not a regular'):
      self._read(self.folder / 't.csv')

  def test_a_number_too_large(self):
    large = pa.array([decimal.Decimal(10**30)], pa.decimal128(38, 0))
    table = pa.table({'a': large})
    with pa.ipc.new_file(str(self.folder / 't.arrow'), table.schema) as writer:
      writer.write_table(table)
    with self.assertRaisesRegex(errors.InputError, "'a' .* fit int64, got"):
      self._read(self.folder / 't.arrow')

  def test_files_of_clients(self):
    for name in ('one', 'two'):
      self._write(f'd/{name}.csv', _CSV)
    with self.assertRaisesRegex(
      errors.InputError, "one.csv, two.csv, got 'train'; a file per client"
    ):
      self._read(self.folder / 'd')
    with self.assertRaisesRegex(
      errors.InputError, "must be train .*got 'test'"
    ):
      self._read(self.folder / 'd' / 'one.csv', split='test')
