# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of reading metrics.csv; those of its writer read what it wrote."""

import pathlib

from fedfish_tff import errors
from fedfish_tff.simulation import metrics_rows

from absl.testing import parameterized
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st


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
