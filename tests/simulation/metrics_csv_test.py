# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of metrics.csv: its writer, and the rows that are read."""

import asyncio
import csv
import errno
import math
import os
import pathlib
from unittest import mock

from fedfish_tff import errors
from fedfish_tff.simulation import metrics_csv
from fedfish_tff.simulation import metrics_rows

from absl.testing import parameterized
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np

_ROWS = (
  {'train/loss': 0.1, 'train/num_examples': 3},
  {'train/loss': float(np.float32(1) / 3), 'train/num_examples': 4},
  {'train/loss': -1.5e-300, 'train/num_examples': 5},
)


def _write(path, rows=_ROWS, first_round=1):
  manager = metrics_csv.CsvMetricsManager(path)
  for round_number, row in enumerate(rows, start=first_round):
    asyncio.run(manager.release(row, round_number))
  return manager


class CsvMetricsManagerTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    folder = pathlib.Path(self.create_tempdir().full_path)
    self.path = folder / 'metrics.csv'

  def test_another_reader_sees_the_rows(self):
    _write(self.path)
    with open(self.path, newline='') as file:
      rows = list(csv.DictReader(file))
    self.assertEqual(
      list(rows[0]), ['round', 'train/loss', 'train/num_examples']
    )
    self.assertEqual([row['round'] for row in rows], ['1', '2', '3'])
    for row, expected in zip(rows, _ROWS, strict=True):
      self.assertEqual(float(row['train/loss']), expected['train/loss'])

  def test_takes_numpy_scalars(self):
    _write(self.path, [{'a': np.float32(0.1), 'b': np.int64(7), 'c': True}])
    self.assertEqual(
      metrics_rows.read_rows(self.path),
      [{'round': 1, 'a': float(np.float32(0.1)), 'b': 7, 'c': 1}],
    )

  @settings(max_examples=50)
  @given(
    st.lists(
      st.dictionaries(
        st.sampled_from(['a', 'b/c', 'd, with "quotes"', 'e']),
        st.floats() | st.integers(),
      ),
      max_size=6,
    )
  )
  def test_reads_back_what_was_released(self, rows):
    self.path.unlink(missing_ok=True)
    _write(self.path, rows)
    found = metrics_rows.read_rows(self.path) if rows else []
    self.assertLen(found, len(rows))
    for round_number, (row, expected) in enumerate(
      zip(found, rows, strict=True), start=1
    ):
      expected = {'round': round_number, **expected}
      self.assertEqual(row.keys(), expected.keys())
      for name, value in expected.items():
        self.assertIs(type(row[name]), type(value))
        if math.isnan(value):
          self.assertTrue(math.isnan(row[name]))
        else:
          self.assertEqual(repr(row[name]), repr(value))

  def test_repairs_a_row_torn_at_any_byte(self):
    _write(self.path, _ROWS[:2])
    before = self.path.read_bytes()
    _write(self.path, _ROWS[2:], first_round=3)
    whole = self.path.read_bytes()
    self.assertStartsWith(whole, before)
    for size in range(len(before), len(whole)):
      self.path.write_bytes(whole[:size])
      manager = metrics_csv.CsvMetricsManager(self.path)
      self.assertEqual(self.path.read_bytes(), before)
      asyncio.run(manager.release(_ROWS[2], 3))
      self.assertEqual(self.path.read_bytes(), whole)

  def test_repairs_a_last_row_of_zero_bytes(self):
    _write(self.path)
    whole = self.path.read_bytes()
    self.path.write_bytes(whole + bytes(20))
    metrics_csv.CsvMetricsManager(self.path)
    self.assertEqual(self.path.read_bytes(), whole)

  @parameterized.parameters(b'', b'rou', b'round,train/lo')
  def test_repairs_a_torn_header(self, content):
    self.path.write_bytes(content)
    _write(self.path)
    self.assertLen(metrics_rows.read_rows(self.path), 3)

  def test_dropping_and_releasing_again_gives_the_same_file(self):
    rows = [*_ROWS[:2], {**_ROWS[2], 'eval/global/loss': 2.0}]
    _write(self.path, rows)
    whole = self.path.read_bytes()
    for kept in range(-1, 4):
      manager = metrics_csv.CsvMetricsManager(self.path)
      manager.drop_rows_after(kept)
      self.assertEqual(manager.last_round, kept if kept > 0 else None)
      for round_number in range(max(1, kept + 1), 4):
        asyncio.run(manager.release(rows[round_number - 1], round_number))
      self.assertEqual(self.path.read_bytes(), whole)

  def test_a_column_of_dropped_rows_is_dropped(self):
    manager = _write(self.path, [{'a': 1}, {'a': 2, 'b': 2}, {'c': 3}])
    manager.drop_rows_after(1)
    asyncio.run(manager.release({'c': 4, 'a': 4}, 2))
    self.assertEqual(self.path.read_text(), 'round,a,c\n1,1,\n2,4,4\n')

  def test_rejects_rounds_that_do_not_increase(self):
    manager = _write(self.path)
    with self.assertRaisesRegex(ValueError, 'Round 3 follows round 3'):
      asyncio.run(manager.release(_ROWS[0], 3))

  def test_a_backup_by_hard_links_is_not_appended_to(self):
    manager = _write(self.path)
    before = self.path.read_bytes()
    os.link(self.path, self.path.with_name('backup'))
    asyncio.run(manager.release(_ROWS[0], 4))
    self.assertEqual(self.path.with_name('backup').read_bytes(), before)
    self.assertStartsWith(self.path.read_bytes(), before)
    self.assertEqual(metrics_csv.CsvMetricsManager(self.path).last_round, 4)

  @parameterized.parameters('fsync', 'short write')
  def test_a_full_disk_takes_the_row_back(self, fault):
    manager = _write(self.path)
    whole = self.path.read_bytes()
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    real_open = open

    def open_with_full_disk(*args, **kwargs):
      file = real_open(*args, **kwargs)
      wrapper = mock.MagicMock(spec=file, wraps=file)
      wrapper.__enter__.return_value = wrapper
      wrapper.__exit__.side_effect = lambda *_: file.close()
      wrapper.write.side_effect = lambda row: file.write(row[: len(row) // 2])
      return wrapper

    patch = (
      mock.patch.object(os, 'fsync', autospec=True, side_effect=full)
      if fault == 'fsync'
      else mock.patch(
        'builtins.open', autospec=True, side_effect=open_with_full_disk
      )
    )
    with patch, self.assertRaisesRegex(errors.InputError, str(self.path)):
      asyncio.run(manager.release(_ROWS[0], 4))
    self.assertEqual(self.path.read_bytes(), whole)

  @parameterized.parameters(b'2,1,3\n', b'1,1,3\n', b'3,x,3\n', b'3,1\n')
  def test_goes_on_from_the_rows_before_a_damaged_one(self, damaged):
    """As from a doubled one; the file stays until they are gone on from."""
    _write(self.path)
    whole = self.path.read_bytes()
    lines = whole.splitlines(keepends=True)
    content = b''.join([*lines[:3], damaged, lines[3]])
    self.path.write_bytes(content)
    with self.assertLogs(level='WARNING') as logs:
      manager = metrics_csv.CsvMetricsManager(self.path)
    self.assertIn(f'Line 4 of {self.path} is damaged', logs.output[0])
    self.assertEqual(self.path.read_bytes(), content)
    self.assertEqual([row['round'] for row in manager.rows], [1, 2])
    asyncio.run(manager.release(_ROWS[2], 3))
    self.assertEqual(self.path.read_bytes(), whole)
    self.path.write_bytes(content)
    metrics_csv.CsvMetricsManager(self.path).drop_rows_after(2)
    self.assertEqual(self.path.read_bytes(), b''.join(lines[:3]))

  @parameterized.parameters(b'a,b\n1,2\n', b'hello')
  def test_rejects_another_file_and_leaves_it(self, content):
    self.path.write_bytes(content)
    with self.assertRaisesRegex(errors.InputError, 'metrics.csv'):
      metrics_csv.CsvMetricsManager(self.path)
    self.assertEqual(self.path.read_bytes(), content)


class MetricsRowsTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path) / 'metrics.csv'

  def test_empty_cells_and_a_torn_row_are_left_out(self):
    self.path.write_text('round,a,b\n0,1.5,\n2,,3\n4,1')
    self.assertEqual(
      metrics_rows.read_rows(self.path),
      [{'round': 0, 'a': 1.5}, {'round': 2, 'b': 3}],
    )

  def test_a_missing_file_cannot_be_read(self):
    with self.assertRaisesRegex(errors.InputError, 'No such file'):
      metrics_rows.read_rows(self.path)

  @given(st.data())
  @settings(max_examples=200)
  def test_no_flipped_bit_goes_unnoticed(self, data):
    """Or it makes no difference to what is read."""
    content = b'round,a,b\n0,,2\n1,1.5,3\n2,0.25,\n5,-1e-30,4\n'
    bit = data.draw(st.integers(0, 8 * len(content) - 1))
    damaged = bytearray(content)
    damaged[bit // 8] ^= 1 << bit % 8
    self.path.write_bytes(content)
    expected = metrics_rows.read_rows(self.path)
    digest = _last_digest(self.path)
    self.path.write_bytes(damaged)
    try:
      found = metrics_rows.read_rows(self.path)
    except errors.InputError:
      return
    if found != expected:
      self.assertNotEqual(_last_digest(self.path), digest)

  @parameterized.parameters('"', '\r', '\0')
  def test_rows_before_a_damaged_one_are_left(self, character):
    self.path.write_text(
      f'round,a\n0,1\n1,{character}2\n' + '2,3\n3,4\n', newline=''
    )
    cells = metrics_rows.read_cells(self.path)
    self.assertEqual((cells.rows, cells.torn), ([['0', '1']], False))
    self.assertStartsWith(cells.damage, f'Line 3 of {self.path} is damaged')

  def test_a_last_line_without_its_content_is_torn(self):
    self.path.write_text('round,a\n0,1\n1,0\n\0\0\0\n')
    cells = metrics_rows.read_cells(self.path)
    self.assertEqual(cells.rows, [['0', '1'], ['1', '0']])
    self.assertTrue(cells.torn)
    self.assertFalse(cells.damage)

  @parameterized.parameters('', 'rou', 'round')
  def test_a_first_line_that_was_not_written_has_no_rows(self, text):
    self.path.write_text(text)
    self.assertEmpty(metrics_rows.read_rows(self.path))

  @parameterized.parameters('a,round\n1,2\n', 'rounds\n1\n', 'sound')
  def test_another_file_is_refused(self, text):
    self.path.write_text(text)
    with self.assertRaisesRegex(errors.InputError, 'not a file of metrics'):
      metrics_rows.read_rows(self.path)

  @parameterized.parameters('0,5\n0,6\n', '0,1\n2,3\n1,4\n')
  def test_rounds_that_do_not_follow_are_damage(self, rows):
    self.path.write_text('round,a\n' + rows)
    with self.assertRaisesRegex(errors.InputError, 'follows round'):
      metrics_rows.read_rows(self.path)

  def test_columns_of_later_rounds_change_no_digest(self):
    early = metrics_rows.chain_digests(['round', 'a'], [['0', '1']])
    late = metrics_rows.chain_digests(
      ['round', 'a', 'b'], [['0', '1', ''], ['1', '2', '3']]
    )
    self.assertEqual(late[0], early[0])


def _last_digest(path):
  cells = metrics_rows.read_cells(path)
  digests = metrics_rows.chain_digests(cells.columns, cells.rows)
  return list(digests.values())[-1:]
