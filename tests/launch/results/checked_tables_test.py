# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of tables whose changes are noticed."""

import pathlib

from fedfish_tff import errors
from launch.results import checked_tables

from absl.testing import absltest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

_CONTENT = b'client_id,round\nann,3\n'
_ROWS = [(2, {'client_id': 'ann', 'round': '3'})]


class CheckedTablesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.run = pathlib.Path(self.create_tempdir().full_path)
    (self.run / 'config.json').write_text('{"seed": 0}')
    folder = self.run / 'evaluation'
    folder.mkdir()
    self.path = folder / 'clients.csv'
    self.other = folder / 'other.csv'
    self.digests = folder / checked_tables.FILE_NAME

  @given(st.data())
  @settings(max_examples=100, deadline=None)
  def test_no_flipped_bit_goes_unnoticed(self, data):
    checked_tables.write_tables({self.path: _CONTENT})
    file = data.draw(st.sampled_from([self.path, self.digests]))
    damaged = bytearray(file.read_bytes())
    bit = data.draw(st.integers(0, 8 * len(damaged) - 1))
    damaged[bit // 8] ^= 1 << bit % 8
    file.write_bytes(damaged)
    with self.assertRaisesRegex(errors.InputError, f'{self.path.parent}'):
      checked_tables.read_table(self.path, ['round'])

  def test_tables_that_are_written_later_leave_the_others_checked(self):
    checked_tables.write_tables({self.path: _CONTENT})
    checked_tables.write_tables({self.other: b'a\n1\n'})
    self.assertEqual(checked_tables.read_table(self.path, ['round']), _ROWS)
    self.assertEqual(
      checked_tables.read_table(self.other, ['a']), [(2, {'a': '1'})]
    )
    self.path.write_bytes(_CONTENT.replace(b'3', b'4'))
    with self.assertRaises(errors.InputError):
      checked_tables.read_table(self.path, ['round'])

  def test_what_is_written_anew_mends_damaged_digests(self):
    checked_tables.write_tables({self.path: _CONTENT})
    self.digests.write_bytes(b'{')
    checked_tables.write_tables({self.path: _CONTENT})
    self.assertEqual(checked_tables.read_table(self.path, ['round']), _ROWS)

  def test_the_tables_of_another_run(self):
    checked_tables.write_tables({self.path: b'other', self.other: b'other'})
    (self.run / 'config.json').write_text('{"seed": 1}')
    with self.assertRaisesRegex(errors.InputError, 'for this run; write it'):
      checked_tables.read_table(self.path, ['round'])
    checked_tables.write_tables({self.path: _CONTENT})
    self.assertEqual(checked_tables.read_table(self.path, ['round']), _ROWS)

  def test_a_table_from_elsewhere_is_taken(self):
    self.path.write_bytes(_CONTENT)
    self.assertEqual(checked_tables.read_table(self.path, ['round']), _ROWS)
