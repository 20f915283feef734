# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of numbers and tables as text."""

from launch.results import text_table

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np


class QuantityTest(parameterized.TestCase):
  @parameterized.parameters(
    (12, '0.012 k'),
    (999, '0.999 k'),
    (1_234, '1.23 k'),
    (45_600, '45.6 k'),
    (999_499, '999 k'),
    (999_600, '1 M'),
    (2.5e6, '2.5 M'),
    (999.6e6, '1 G'),
    (139e9, '139 G'),
    (1e12, '1 T'),
    (3.21e15, '3.21 P'),
  )
  def test_three_digits_are_below_a_thousand(self, number, expected):
    self.assertEqual(text_table.quantity(number), expected)


class TextTableTest(absltest.TestCase):
  def test_columns_are_as_wide_as_their_widest_cell(self):
    self.assertEqual(
      text_table.align(
        [
          ('method', 'mean', ''),
          ('FedFish', '0.5 ± 0.25', 'one pair'),
          ('', '1', ''),
        ]
      ),
      'method   mean\nFedFish  0.5 ± 0.25  one pair\n         1',
    )

  def test_rows_of_another_length_are_refused(self):
    with self.assertRaises(ValueError):
      text_table.align([('a', 'b'), ('c',)])

  def test_latex(self):
    # It has been through pdflatex, and looked at.
    rows = [('a_b', '50% & ~$x^2$'), (r'{c}\d', '0.5 ± 0.1'), ('#1', '')]
    table = text_table.Table(['A note.'], rows, bold=[(1, 1)])
    self.assertEqual(
      text_table.to_latex('A title', table).splitlines(),
      [
        '% A title',
        '% A note.',
        r'% It needs \usepackage{booktabs}.',
        r'\begin{tabular}{@{}ll@{}}',
        r'\toprule',
        r'a\_b & 50\% \& \textasciitilde{}\$x\textasciicircum{}2\$ \\',
        r'\midrule',
        r'\{c\}\textbackslash{}d & \textbf{0.5 $\pm$ 0.1} \\',
        r'\#1 &  \\',
        r'\bottomrule',
        r'\end{tabular}',
      ],
    )

  def test_heads_and_numbers_in_latex_have_short_lines(self):
    rows = [
      ('Method of a long name', 'Test accuracy, global model'),
      ('FedFish, mean of Fisher values', '0.123 ± 0.045, missing: 2'),
    ]
    table = text_table.Table([], rows, bold=[(1, 1)], num_left=1)
    lines = text_table.to_latex('t', table).splitlines()
    # A deviation stays with its number, and the words of a method in one line.
    self.assertEqual(
      [line for line in lines if ' & ' in line],
      [
        r'\shortstack[l]{Method of a \\ long name} & '
        r'\shortstack[r]{Test accuracy, \\ global model} \\',
        r'FedFish, mean of Fisher values & '
        r'\textbf{\shortstack[r]{0.123 $\pm$ 0.045, \\ missing: 2}} \\',
      ],
    )

  def test_a_table_without_rows_says_so(self):
    table = text_table.Table(['0 of 2 runs are finished.'], [])
    pages = text_table.to_pages('methods', 'A title', table)
    self.assertEqual(list(pages), ['methods.md', 'methods.tex'])
    for page in pages.values():
      self.assertIn('0 of 2 runs', page.decode())
      self.assertIn(text_table.NOTHING, page.decode())

  def test_numbers_are_aligned_at_the_right(self):
    rows = [('Method', 'A'), ('x', '1')]
    table = text_table.Table(['A note.'], rows, bold=[(1, 1)], num_left=1)
    self.assertIn(r'\begin{tabular}{@{}lr@{}}', text_table.to_latex('t', table))
    self.assertEqual(
      text_table.to_markdown('t', table).splitlines(),
      [
        *('# t', '', 'A note.', ''),
        '| Method |     A |',
        '| ---    |  ---: |',
        '| x      | **1** |',
      ],
    )
    self.assertIn('<td>x</td><td class="number">', text_table.to_html(table))

  def test_csv(self):
    rows = [('FedFish, 1', 0.1, None), ('ä', float('nan'), np.nan)]
    for keep_nan, last in ((False, 'ä,,'), (True, 'ä,nan,nan')):
      content = text_table.to_csv(
        ['method', 'mean', 'low'], rows, keep_nan=keep_nan
      )
      self.assertEqual(
        content.decode(), f'method,mean,low\n"FedFish, 1",0.1,\n{last}\n'
      )
