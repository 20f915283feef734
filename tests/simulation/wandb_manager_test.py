# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rows in Weights & Biases, offline; without its package, what is said then."""

import asyncio
import importlib.util
import json
import os
import pathlib
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


def _read(folder):
  """Returns id, name, config and rows of what is there, by wandb's own reader."""
  from wandb.proto import wandb_internal_pb2  # pylint: disable=g-import-not-at-top
  from wandb.sdk.internal import datastore  # pylint: disable=g-import-not-at-top

  (file,) = folder.wandb_path.glob('offline-run-*/run-*.wandb')
  store = datastore.DataStore()
  store.open_for_scan(str(file))
  rows = []
  while (data := store.scan_data()) is not None:
    record = wandb_internal_pb2.Record.FromString(data)
    if record.HasField('run'):
      run = record.run
    if record.HasField('history'):
      row = {
        '/'.join(item.nested_key) or item.key: json.loads(item.value_json)
        for item in record.history.item
      }
      rows.append({k: row[k] for k in row if k not in _TIMES})
  store.close()
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
      self.assertRaisesRegex(errors.InputError, "pip install 'wandb<0.19'"),
    ):
      wandb_manager.WandbManager(self._workdir('w'))

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
