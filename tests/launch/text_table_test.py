# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of tables as text."""

import csv
import io
import math

from launch import text_table

from absl.testing import absltest
from hypothesis import given
from hypothesis import strategies as st


class TextTableTest(absltest.TestCase):
  def test_columns_are_aligned_without_blanks_at_the_ends(self):
    self.assertEqual(
      text_table.align([('run', 'rounds', ''), ('fed3r_rf', '5', 'x')]),
      'run       rounds\nfed3r_rf  5       x',
    )

  def test_rows_of_different_length_are_no_table(self):
    with self.assertRaises(ValueError):
      text_table.align([('a', 'b'), ('c',)])

  @given(
    st.lists(
      st.lists(st.integers() | st.text('ab,"\n'), min_size=2, max_size=2)
    )
  )
  def test_csv_is_read_back(self, rows):
    text = text_table.to_csv(['one', 'two'], rows).decode()
    self.assertEqual(
      list(csv.reader(io.StringIO(text, newline=''))),
      [['one', 'two'], *([str(cell) for cell in row] for row in rows)],
    )

  def test_cells_that_are_no_numbers(self):
    rows = [(1.5, None, math.nan)]
    header = ('a', 'b', 'c')
    self.assertEqual(text_table.to_csv(header, rows), b'a,b,c\n1.5,,\n')
    self.assertEqual(
      text_table.to_csv(header, rows, keep_nan=True), b'a,b,c\n1.5,,nan\n'
    )


if __name__ == '__main__':
  absltest.main()
