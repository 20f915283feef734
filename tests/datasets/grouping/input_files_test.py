# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of reading lines and rows."""

import bz2
import gzip
import pathlib
from unittest import mock

from fedfish_tff import errors
from fedfish_tff.datasets.grouping import input_files
from fedfish_tff.datasets.grouping import sources
from tests import temporary_folders

from absl.testing import absltest
from absl.testing import parameterized
import fsspec
from hypothesis import given
from hypothesis import strategies as st
import pyarrow as pa
from pyarrow import parquet
import zstandard

_PACK = {
  '.gz': gzip.compress,
  '.bz2': bz2.compress,
  '.zst': lambda content: pa.compress(content, 'zstd', asbytes=True),
}


def _read(path):
  """Returns all lines, and how the file was damaged."""
  lines = []
  try:
    for item in input_files.find_ranges(str(path)):
      for _, line in input_files.read_lines(item, lambda _: None):
        lines.append(line)
  except input_files.DamagedFileError as error:
    return lines, error.kind
  return lines, None


def _zstd_with_checksum(content):
  return zstandard.ZstdCompressor(write_checksum=True).compress(content)


class InputFilesTest(temporary_folders.TestCase):
  @given(
    st.lists(st.binary(max_size=6), max_size=12),
    st.integers(1, 20),
    st.integers(1, 9),
    st.integers(1, 9),
    st.booleans(),
  )
  def test_ranges_have_each_line_once(
    self, pieces, step, chunk, piece, is_ended
  ):
    content = b'\n'.join(pieces) + b'\n' * is_ended
    path = self.folder / 'a.jsonl'
    path.write_bytes(content)
    for suffix, pack in _PACK.items():
      (self.folder / f'a.json{suffix}').write_bytes(pack(content))
    lines = content.removeprefix(b'\xef\xbb\xbf').split(b'\n')
    expected = [line for line in lines if line.strip()]
    with (
      mock.patch.object(input_files, '_RANGE_BYTES', step),
      mock.patch.object(input_files, '_CHUNK_BYTES', chunk),
      mock.patch.object(input_files, '_PIECE_BYTES', piece),
    ):
      self.assertEqual(_read(path), (expected, None))
      for suffix in _PACK:
        found = _read(self.folder / f'a.json{suffix}')
        self.assertEqual(found, (expected, None), suffix)

  def test_numbers_and_progress(self):
    path = self.folder / 'a.json'
    path.write_bytes(b'\xef\xbb\xbfone\r\n \n\nfour')
    (item,) = input_files.find_ranges(str(path))
    done = []
    self.assertEqual(
      list(input_files.read_lines(item, done.append)),
      [(1, b'one\r'), (4, b'four')],
    )
    self.assertEqual(sum(done), path.stat().st_size)
    self.assertEqual(item.name, str(path))

  def test_files_are_sorted_and_of_known_kinds(self):
    for name in ('b.json.gz', 'a.parquet', 'c.jsonl'):
      (self.folder / name).write_bytes(b'1234')
    found = input_files.find_ranges(f'{self.folder}/*')
    self.assertEqual(
      [pathlib.Path(item.path).name for item in found],
      ['a.parquet', 'b.json.gz', 'c.jsonl'],
    )
    self.assertEqual({item.size for item in found}, {4})
    self.assertEqual(input_files.estimate_text_bytes(found), 28)
    (self.folder / 'd.txt').write_text('')
    with self.assertRaisesRegex(errors.InputError, r'd\.txt ends in none of'):
      input_files.find_ranges(f'{self.folder}/*')

  def test_a_file_whose_name_is_a_pattern(self):
    path = self.folder / 'a [x]' / 'b*[y]\\.json'
    path.parent.mkdir()
    path.write_text('1')
    for pattern in (path, path.parent / '*.json'):
      (item,) = input_files.find_ranges(str(pattern))
      self.assertEqual(item.path, str(path))

  @parameterized.parameters(
    ('{}/none*.json', 'There is no file'),
    ('{}/none.json', 'There is no file'),
    ('gs://bucket/*.json', 'cannot be listed'),
    ('s3://bucket/*.json', 'cannot be listed'),
    ('http://host/a.json', 'cannot be listed'),
  )
  def test_no_files(self, pattern, message):
    with self.assertRaisesRegex(errors.InputError, message):
      input_files.find_ranges(pattern.format(self.folder))

  @parameterized.parameters(0, 15, 400, -1)
  def test_lines_before_the_cut_count(self, cut):
    lines = [b'%d of some lines' % (i**7) for i in range(400)]
    whole = gzip.compress(b'\n'.join(lines) + b'\n')
    path = self.folder / 'a.json.gz'
    path.write_bytes(whole[:cut])
    found, kind = _read(path)
    self.assertEqual(kind, 'truncated_gzip')
    self.assertEqual(found, lines[: len(found)])
    if cut == 400:
      # An independent reading of what is there.
      with gzip.open(path) as file:
        expected = b''
        try:
          while piece := file.read1():
            expected += piece
        except EOFError:
          pass
      self.assertLen(found, expected.count(b'\n'))
      self.assertNotEmpty(found)
    if cut == -1:
      self.assertLen(found, 400)

  def test_members_padding_and_garbage(self):
    path = self.folder / 'a.json.gz'
    members = gzip.compress(b'one\ntw') + b'\0\0' + gzip.compress(b'o\nthree')
    path.write_bytes(members + b'\0')
    self.assertEqual(_read(path), ([b'one', b'two', b'three'], None))
    path.write_bytes(members + b'garbage')
    self.assertEqual(_read(path), ([b'one', b'two'], 'damaged_gzip'))
    path.write_bytes(b'{"not": "gzip"}')
    self.assertEqual(_read(path), ([], 'damaged_gzip'))

  @parameterized.parameters(
    ('.gz', gzip.compress, -6, 'damaged_gzip'),
    ('.bz2', bz2.compress, -3, 'damaged_bz2'),
    ('.zst', _zstd_with_checksum, -2, 'damaged_zst'),
  )
  def test_a_wrong_checksum_costs_the_last_block(
    self, suffix, pack, place, kind
  ):
    lines = [b'%d of some lines' % (i**7) for i in range(200_000)]
    content = bytearray(pack(b'\n'.join(lines) + b'\n'))
    content[place] ^= 1
    path = self.folder / f'a.json{suffix}'
    path.write_bytes(content)
    found, found_kind = _read(path)
    self.assertEqual(found_kind, kind)
    self.assertEqual(found, lines[: len(found)])
    # A block of bz2 has up to 900 kB; gzip looks at it after the last byte.
    self.assertGreater(len(found), 199_999 if suffix == '.gz' else 150_000)

  @parameterized.parameters('.bz2', '.zst')
  def test_damage_behind_a_whole_member(self, suffix):
    path = self.folder / f'a.json{suffix}'
    member = _PACK[suffix](b'one\n')
    for rest, kind in (
      (b'garbage', 'damaged'),
      (member[: len(member) // 2], 'truncated'),
    ):
      path.write_bytes(member + rest)
      self.assertEqual(
        _read(path), ([b'one'], f'{kind}{suffix.replace(".", "_")}')
      )

  def test_another_file_system(self):
    system = fsspec.filesystem('memory')
    system.pipe('/pages/a.json', b'one\ntwo\n')
    system.pipe('/pages/b.json.gz', gzip.compress(b'three\n'))
    lines, kind = _read('memory://pages/*.json*')
    self.assertEqual((lines, kind), ([b'one', b'two', b'three'], None))

  def test_a_wide_window_of_zstd(self):
    packer = zstandard.ZstdCompressor(
      compression_params=zstandard.ZstdCompressionParameters(window_log=28)
    ).compressobj()
    path = self.folder / 'a.json.zst'
    path.write_bytes(packer.compress(b'one\ntwo\n') + packer.flush())
    self.assertEqual(_read(path), ([b'one', b'two'], None))

  def test_a_line_of_many_ranges_is_read_once_or_twice(self):
    path = self.folder / 'a.json'
    path.write_bytes(b'x' * 10_000)
    told = []
    with (
      mock.patch.object(input_files, '_RANGE_BYTES', 500),
      mock.patch.object(input_files, '_CHUNK_BYTES', 50),
    ):
      for item in input_files.find_ranges(str(path)):
        list(input_files.read_lines(item, told.append))
    self.assertBetween(sum(told), 10_000, 25_000)

  def test_lines_too_long(self):
    path = self.folder / 'a.json'
    path.write_bytes(b'short\nmuch too long\nshort\nagain too long')
    with (
      mock.patch.object(input_files, '_MOST_LINE_BYTES', 6),
      mock.patch.object(input_files, '_CHUNK_BYTES', 4),
    ):
      self.assertEqual(_read(path)[0], [b'short', None, b'short', None])

  def test_a_file_that_cannot_be_opened(self):
    path = self.folder / 'a.json'
    path.write_bytes(b'one')
    (item,) = input_files.find_ranges(str(path))
    path.unlink()
    with self.assertRaisesRegex(errors.InputError, 'a.json cannot be read'):
      list(input_files.read_lines(item, lambda _: None))


class ParquetTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path) / 'a.parquet'

  def _read(self, columns):
    (item,) = input_files.find_ranges(str(self.path))
    done = []
    rows = [
      (number, row)
      if isinstance(row, sources.Skipped)
      else (number, {name: row.get(name) for name in columns})
      for number, row in input_files.read_rows(item, columns, done.append)
    ]
    return rows, done

  def test_rows(self):
    # Arrow takes these bytes as a text, without a look at them.
    bad = pa.array([b'\xff', b'a', None]).cast(pa.binary()).view(pa.string())
    table = pa.table(
      {
        'text': bad,
        'size': [1, 2, 3],
        'url': pa.array(['a', None, 'Zoë'], pa.large_string()),
        'again': pa.DictionaryArray.from_arrays([0, 1, None], ['b', 'a']),
      }
    )
    parquet.write_table(table, self.path)
    rows, done = self._read(['url', 'text', 'again'])
    self.assertEqual(
      rows,
      [
        (1, {'text': b'\xff', 'url': b'a', 'again': b'b'}),
        (2, {'text': b'a', 'url': None, 'again': b'a'}),
        (3, {'text': None, 'url': 'Zoë'.encode(), 'again': None}),
      ],
    )
    self.assertEqual(done, [self.path.stat().st_size])

  def test_no_rows_and_no_columns(self):
    parquet.write_table(pa.table({'a': pa.array([], pa.int64())}), self.path)
    self.assertEqual(self._read(['a']), ([], []))
    parquet.write_table(pa.table({'a': [1, 2]}), self.path)
    rows, _ = self._read(['b'])
    self.assertEqual(rows, [(1, {'b': None}), (2, {'b': None})])

  def test_files_of_which_nothing_can_be_read(self):
    parquet.write_table(pa.table({'a': ['a']}), self.path)
    whole = self.path.read_bytes()
    table = pa.table({'name': ['a']})
    parquet.write_table(table, self.path, store_schema=False)
    no_text = self.path.read_bytes().replace(b'name', b'\xff' * 4)
    for content in (b'', b'PAR1', whole[:-9], no_text):
      self.path.write_bytes(content)
      with self.assertRaises(input_files.DamagedFileError) as caught:
        self._read(['a'])
      self.assertEqual(caught.exception.kind, 'damaged_parquet')

  def test_a_damaged_page_costs_the_rest_of_its_row_group(self):
    text = [f'{i**9} some text' for i in range(10_000)]
    parquet.write_table(
      pa.table({'a': text}),
      self.path,
      row_group_size=1000,
      data_page_size=4096,
      write_batch_size=100,
      use_dictionary=False,
      write_page_checksum=True,
      compression='none',
    )
    content = bytearray(self.path.read_bytes())
    # In the fourth row group; the ends of a page are in its header, too.
    values = (f'{i**9} some'.encode() for i in range(3600, 3700))
    value = next(value for value in values if content.count(value) == 1)
    content[content.index(value)] ^= 1
    self.path.write_bytes(content)
    rows, done = self._read(['a'])
    self.assertEqual(sum(done), len(content))
    (lost,) = [row for _, row in rows if isinstance(row, sources.Skipped)]
    # Pages end after hundreds of rows.
    first = 4001 - lost.count
    self.assertEqual(first % 100, 1)
    self.assertBetween(first, 3301, 3700)
    self.assertEqual(
      (lost.kind, lost.where),
      ('damaged_parquet', f'{self.path}, rows {first:,} to 4,000'),
    )
    self.assertEqual(
      [(n, row['a'].decode()) for n, row in rows if isinstance(row, dict)],
      [
        (n, value)
        for n, value in enumerate(text, start=1)
        if not first <= n <= 4000
      ],
    )
