# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A benchmark's table is Markdown, aligned for a terminal."""

from benchmarks import report

from absl.testing import absltest


class ReportTest(absltest.TestCase):
  def test_table(self):
    lines = [
      ['seconds', '1 core', 'ratio'],
      ['Something, 10 clients', '', ''],
      ['loop', '1.50', '1.00'],
    ]
    self.assertEqual(
      report.format_table(lines, ['A note.']),
      '| seconds                   | 1 core | ratio |\n'
      '|---------------------------|-------:|------:|\n'
      '| **Something, 10 clients** |        |       |\n'
      '| loop                      |   1.50 |  1.00 |\n'
      '\nA note.',
    )
