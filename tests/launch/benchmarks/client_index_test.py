# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The binary that measures what a cohort costs among many clients."""

import os
import pathlib

from tests.launch import binary_runner

from absl.testing import absltest
import pytest


class ClientIndexTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._runner = binary_runner.BinaryRunner(
      'launch.benchmarks.client_index', 'launch.benchmarks.generated_folder'
    )
    cls.addClassCleanup(cls._runner.close)

  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)

  @pytest.mark.slow
  def test_table(self):
    markdown = self._folder / 'table.md'
    outcome = self._runner.run(
      '--clients=1200',
      '--cohort_size=4',
      '--cohorts=3',
      '--window=16',
      f'--dir={self._folder / "kept"}',
      f'--markdown={markdown}',
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    header, *rows = outcome.stdout.splitlines()
    self.assertEqual(header.split(), ['clients', '1,200'])
    titles = [row[:30].split(',')[0] for row in rows[:13]]
    self.assertLen(set(titles), 13)
    for row in rows[:13]:
      self.assertRegex(row, r' \d+\.\d+$')
    self.assertEqual(os.listdir(self._folder / 'kept'), ['clients_1200'])
    self.assertIn(
      '`python -m launch.benchmarks.client_index --clients=1200 --cohort_size=4 '
      '--cohorts=3 --window=16` printed:',
      markdown.read_text(),
    )

  def test_bad_input(self):
    (self._folder / 'clients_5').mkdir()
    (self._folder / 'clients_5' / 'mine').touch()
    for arguments, message in (
      (('--clients=0',), '--clients=0'),
      (('--clients=5', f'--dir={self._folder}'), 'clients_5 is not empty'),
      (('more',), 'Unexpected argument'),
    ):
      outcome = self._runner.run(*arguments)
      self.assertEqual(outcome.code, 2, outcome.stderr)
      self.assertIn(message, outcome.stderr.splitlines()[-1])


if __name__ == '__main__':
  absltest.main()
