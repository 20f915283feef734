# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A benchmark's table for the terminal and as Markdown."""

from launch.benchmarks import report

from absl.testing import absltest

_LINES = [
  ['seconds', '1 core', 'ratio'],
  ['Something, 10 clients', '', ''],
  ['loop', '1.50', '1.00'],
]


class ReportTest(absltest.TestCase):
  def test_text(self):
    text = report.format_text(_LINES, ['A note.'])
    header, empty, title, loop, *_ = text.splitlines()
    self.assertEqual(empty, '')
    self.assertEqual(title, 'Something, 10 clients')
    self.assertEqual(loop.index('1.50') + 4, header.index('1 core') + 6)
    self.assertTrue(text.endswith('\n\nA note.'))

  def test_markdown(self):
    markdown = report.format_markdown(_LINES, ['A note.'], 'make it')
    rows = [line for line in markdown.splitlines() if line.startswith('|')]
    self.assertLen({row.count('|') for row in rows}, 1)
    self.assertIn('`make it`', markdown)
    self.assertIn('| **Something, 10 clients** |', markdown)
    self.assertTrue(markdown.endswith('\n\nA note.'))
