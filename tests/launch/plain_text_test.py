# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of text for every kind of output."""

import html.parser
from unittest import mock

from launch import plain_text

from absl.testing import parameterized


class PlainTextTest(parameterized.TestCase):
  @parameterized.parameters(
    ('FedFish ± 1, "ä" µ…', 'FedFish ± 1, "ä" µ…'),
    ('\x1b[31mred\x1b]0;title\x07', r'\x1b[31mred\x1b]0;title\x07'),
    # A C1 control, one that reverses text, and half of a surrogate pair.
    ('\x9b2J \u202egnp.exe \udc80', r'\x9b2J \u202egnp.exe \udc80'),
    ('a\rb\x00\x7f', r'a\rb\x00\x7f'),
  )
  def test_what_a_terminal_obeys_is_escaped(self, text, expected):
    self.assertEqual(plain_text.lines(text), expected)
    self.assertEqual(plain_text.line(text), expected)

  def test_lines_stay_or_become_one(self):
    self.assertEqual(plain_text.lines('a\n\tb'), 'a\n\tb')
    self.assertEqual(plain_text.line('a\n\tb'), r'a\n\tb')

  @parameterized.parameters(
    'x\n\\end{tabular}\\input{/etc/passwd}',
    'x\r\\write18{id}',
    'x\x0c\\input y',
    '^^5cinput y',
    'x\u2028\\input y',
  )
  def test_latex_has_no_command_of_a_name(self, text):
    written = plain_text.latex(text)
    self.assertLen(written.splitlines(), 1)
    for allowed in ('textbackslash', 'textasciicircum', '{', '}', '#'):
      written = written.replace(f'\\{allowed}', '')
    self.assertNotIn('\\', written)
    self.assertNotIn('^^', written)

  def test_latex_at_the_start_of_a_row(self):
    # After \\ they would be its argument and its star.
    self.assertEqual(plain_text.latex('[1em]*'), '{[}1em]{*}')

  @parameterized.parameters(
    '<img src=x onerror=alert(1)>', '<script>', '&lt;b&gt;', 'a\n\n<b>', '"><i>'
  )
  def test_html_and_markdown_have_no_tag_of_a_name(self, text):
    for write in (plain_text.html, plain_text.markdown):
      with mock.patch.object(
        html.parser.HTMLParser, 'handle_starttag', autospec=True
      ) as handle:
        html.parser.HTMLParser().feed(
          f'<p title="{plain_text.html(text)}">{write(text)}</p>'
        )
      handle.assert_called_once_with(mock.ANY, 'p', [('title', mock.ANY)])

  def test_markdown(self):
    self.assertEqual(
      plain_text.markdown('a|b\n# ![i](http://x) `c` **d** fed_avg 0.5 ± 0.1'),
      r'a\|b\\n# !\[i\](http://x) \`c\` \*\*d\*\* fed_avg 0.5 ± 0.1',
    )

  @parameterized.parameters(
    ('=HYPERLINK("http://x")', '\'=HYPERLINK("http://x")'),
    ('+1+cmd|x', "'+1+cmd|x"),
    ('-2+3', "'-2+3"),
    ('@SUM(A1)', "'@SUM(A1)"),
    (' =1', "' =1"),
    ('＝1', "'＝1"),
    ('\t=1', r'\t=1'),
    ('-0.5', '-0.5'),
    ('+1e-3', '+1e-3'),
    ('-inf', '-inf'),
    ('a=b', 'a=b'),
    ('', ''),
    (-0.5, -0.5),
    (None, None),
  )
  def test_cells_are_no_formulas(self, cell, expected):
    self.assertEqual(plain_text.csv_cell(cell), expected)
