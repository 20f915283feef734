# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A benchmark's table on the terminal and in a file, with its command."""

import contextlib
import io
import pathlib

from launch.benchmarks import report

from absl import flags
from absl.testing import absltest


class ReportTest(absltest.TestCase):
  def test_only_flags_that_were_given_are_arguments(self):
    values = flags.FlagValues()
    own = [
      flags.DEFINE_multi_integer('cores', [1, 2], '', flag_values=values),
      flags.DEFINE_string('input', None, '', flag_values=values),
      flags.DEFINE_integer('repeats', 3, '', flag_values=values),
    ]
    values(['run', '--cores=4', '--input=a b/*', '--cores=8'])
    self.assertEqual(
      report.given_arguments(own), ['--cores=4', '--cores=8', '--input=a b/*']
    )

  def test_table_is_printed_and_written(self):
    path = pathlib.Path(self.create_tempdir().full_path, 'speed.md')
    lines = [['row', 'seconds'], ['loop', '0.5']]
    for markdown in (None, str(path)):
      out = io.StringIO()
      with contextlib.redirect_stdout(out):
        report.print_table(
          lines, ['A note.'], command='make bench', markdown=markdown
        )
      self.assertEqual(
        [line.split() for line in out.getvalue().splitlines()],
        [['row', 'seconds'], ['loop', '0.5'], [], ['A', 'note.']],
      )
      self.assertEqual(path.exists(), markdown is not None)
    text = path.read_text()
    for part in ('`make bench` printed:', '| loop | 0.5 |', 'A note.'):
      self.assertIn(part, text)


if __name__ == '__main__':
  absltest.main()
