# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rows in Weights & Biases, offline; without its package, what is said then."""

import asyncio
import importlib.util
import json
import os
import pathlib
import struct
import unittest
from unittest import mock

from fedfish_tff import errors
from fedfish_tff.simulation import metrics_csv
from fedfish_tff.simulation import wandb_manager
from fedfish_tff.simulation import workdir

from absl.testing import absltest
import numpy as np
import psutil

_CONFIG = {'algorithm': {'name': 'a'}, 'task': {}, 'seed': 3, 'rounds': 2}
_TIMES = ('_runtime', '_timestamp')


def _loss(round_number):
  return np.float32(1) / np.float32(round_number + 3)


def _records(content):
  """Yields the records of a log in the form of LevelDB, in blocks of 32 KiB."""
  record, position = b'', 7  # After the file's own header.
  while position + 7 <= len(content):
    if (left := -position % 2**15) and left < 7:
      position += left
      continue
    _, length, kind = struct.unpack_from('<IHB', content, position)
    record += content[position + 7 :][:length]
    position += 7 + length
    if kind in (1, 4):  # A whole record, or its last part.
      yield record
      record = b''


def _read(folder):
  """Returns the id, name, config and rows of the one run that is there."""
  from wandb.proto import wandb_internal_pb2  # pylint: disable=g-import-not-at-top

  (file,) = folder.wandb_path.glob('offline-run-*/run-*.wandb')
  rows = []
  for data in _records(file.read_bytes()):
    record = wandb_internal_pb2.Record.FromString(data)
    if record.HasField('run'):
      run = record.run
    if record.HasField('history'):
      row = {
        '/'.join(item.nested_key) or item.key: json.loads(item.value_json)
        for item in record.history.item
      }
      rows.append({k: row[k] for k in row if k not in _TIMES})
  config = {
    item.key: json.loads(item.value_json)
    for item in run.config.update
    if item.key != '_wandb'
  }
  return run.run_id, run.display_name, config, rows


class WandbManagerTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.enter_context(mock.patch.dict(os.environ))
    # Nothing that is set here decides.
    for name in [name for name in os.environ if name.startswith('WANDB_')]:
      del os.environ[name]

  def _workdir(self, name):
    folder = workdir.Workdir(
      pathlib.Path(self.create_tempdir().full_path) / name
    )
    folder.path.mkdir()
    folder.config_path.write_text(json.dumps(_CONFIG))
    return folder

  def test_without_the_package(self):
    with (
      mock.patch.dict('sys.modules', {'wandb': None}),
      self.assertRaisesRegex(errors.InputError, 'pip install wandb'),
    ):
      wandb_manager.WandbManager(self._workdir('w'))

  def test_a_link_is_not_written_through(self):
    folder = self._workdir('w')
    folder.wandb_path.symlink_to('/tmp')
    with (
      mock.patch.dict('sys.modules', {'wandb': mock.Mock()}),
      self.assertRaisesRegex(errors.InputError, '/wandb must be a folder or'),
    ):
      wandb_manager.WandbManager(folder)

  @unittest.skipUnless(importlib.util.find_spec('wandb'), 'no wandb here')
  def test_a_resumed_run_has_each_round_once(self):
    import wandb  # pylint: disable=g-import-not-at-top

    self.addCleanup(wandb.teardown)
    folder, other = self._workdir('my_run'), self._workdir('other')
    csv = metrics_csv.CsvMetricsManager(folder.metrics_path)
    expected = [
      {'_step': k, 'train/loss': float(_loss(k)), 'train/steps': 3}
      for k in range(5)
    ]
    ids = []
    # Rounds come again, and the last run of the process is another one.
    for last_saved, rounds in ((-1, range(3)), (1, range(2, 5))):
      manager = wandb_manager.WandbManager(folder)
      ids.append(wandb.run.id)
      csv.drop_rows_after(last_saved)
      for k in rounds:
        row = {'train/loss': _loss(k), 'train/steps': 3}
        asyncio.run(csv.release(row, k))
        asyncio.run(manager.release(row, k))
    manager = wandb_manager.WandbManager(other)
    asyncio.run(manager.release({'train/loss': 7.0}, 0))
    wandb.teardown()
    self.assertEmpty(psutil.Process().children(recursive=True))

    # Offline though nothing says so, and in place of what was there.
    self.assertEqual(_read(folder), (ids[0], 'my_run', _CONFIG, expected))
    self.assertLen(set(ids), 1)
    other_id, _, _, rows = _read(other)
    self.assertNotEqual(other_id, ids[0])
    self.assertEqual(rows, [{'_step': 0, 'train/loss': 7.0}])
