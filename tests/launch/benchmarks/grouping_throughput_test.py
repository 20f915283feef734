# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The binary that measures how fast text is grouped."""

import pathlib

from tests.launch import binary_runner

from absl.testing import absltest
import pytest


class GroupingThroughputTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._runner = binary_runner.BinaryRunner(
      'launch.benchmarks.grouping_throughput'
    )
    self.addCleanup(self._runner.close)
    self._folder = pathlib.Path(self.create_tempdir().full_path)

  # Four processes import Beam and TensorFlow.
  @pytest.mark.slow
  def test_table(self):
    markdown = self._folder / 'table.md'
    outcome = self._runner.run(
      '--megabytes=1', '--workers=1', '--repeats=1', f'--markdown={markdown}'
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    rows = {
      line[:30].strip(): line[30:].split()
      for line in outcome.stdout.splitlines()
    }
    self.assertEqual(rows['pipeline'], ['grouping', 'GroupByKey'])
    for title in ('clients', 'examples'):
      ours, plain = rows[title]
      self.assertEqual(ours, plain)
    self.assertLen(rows['MB a second'], 2)
    self.assertEqual(rows['time by that of GroupByKey'][1], '1.00')
    self.assertIn(
      '`python -m launch.benchmarks.grouping_throughput --megabytes=1 '
      '--workers=1 --repeats=1` printed:',
      markdown.read_text(),
    )

  def test_bad_input(self):
    markdown = self._folder / 'mine.md'
    markdown.write_text('My own notes.\n')
    for arguments, message in (
      (('--megabytes=0',), '--megabytes=0'),
      ((f'--input={self._folder}/none*',), 'matches no local file'),
      ((f'--markdown={markdown}',), 'has no part'),
      (('more',), 'Unexpected argument'),
    ):
      outcome = self._runner.run(*arguments)
      self.assertEqual(outcome.code, 2, outcome.stderr)
      self.assertEqual(outcome.stdout, '')
      self.assertLen(outcome.stderr.splitlines(), 1)
      self.assertIn(message, outcome.stderr)


if __name__ == '__main__':
  absltest.main()
