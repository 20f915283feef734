# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the reader of transfer scores."""

import dataclasses
import pathlib

from fedfish_tff import errors
from launch.results import run_reader
from launch.results import transfer_reader
from tests.launch.results import fake_runs

from absl.testing import absltest
import numpy as np


class TransferReaderTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    run = fake_runs.make_setting_run()
    self._scores = fake_runs.make_transfer_scores(run)
    self._folder = fake_runs.write_run(
      dataclasses.replace(run, transfer=self._scores),
      pathlib.Path(self.create_tempdir().full_path) / 'w',
    )
    self._path = self._folder / transfer_reader.TRANSFER_CSV

  def test_reads_what_was_written(self):
    run = run_reader.read_run(self._folder)
    for found in (transfer_reader.read_scores(self._folder), run.transfer):
      self.assertEqual(
        tuple(found.itertuples(index=False, name=None)), self._scores
      )

  def test_no_interval(self):
    head, line, *_ = self._path.read_text().splitlines()
    cells = line.split(',')
    cells[9:11] = '', ''
    self._path.write_text(f'{head}\n{",".join(cells)}\n')
    (score,) = transfer_reader.read_scores(self._folder).itertuples()
    self.assertTrue(np.isnan(score.low) and np.isnan(score.high))
    self.assertEqual(score.mean, self._scores[0].mean)

  def test_damage_is_told(self):
    text = self._path.read_text()
    self._path.write_text(text + 'c4,half\n')
    with self.assertRaisesRegex(errors.InputError, 'Line 38 of .* is damaged'):
      transfer_reader.read_scores(self._folder)
    self._path.write_text('a,b\n')
    with self.assertRaisesRegex(errors.InputError, 'columns target,round'):
      transfer_reader.read_scores(self._folder)
