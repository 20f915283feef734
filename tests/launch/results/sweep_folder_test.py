# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what is read from a sweep's folder."""

import json

from fedfish_tff import errors
from fedfish_tff import simulation
from tests import temporary_folders
from tests.launch.sweeps import fake_sweeps


class SweepFolderTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    self.path = self.folder / 'sweep'
    self.runs = fake_sweeps.grid(['fed_avg'], seed=(0, 1))

  def test_finished_runs(self):
    folder = fake_sweeps.write_sweep(self.path, self.runs)
    run = self.runs[0]
    read = lambda: folder.read_summary(run.name, run.config.values)  # noqa: E731
    self.assertIsNone(read())
    fake_sweeps.write_result(folder, run, 0.5)
    self.assertEqual(read()['final']['eval/global/accuracy'], 0.5)
    self.assertFalse(folder.is_evaluated(run.name, run.config.values))
    summary = folder.workdir(run.name) / 'summary.json'
    # Half of a file, another figure, fewer rounds, another config: not finished.
    whole = summary.read_text()
    for damaged in (whole[:30], whole.replace('0.5', '0.75')):
      summary.write_text(damaged)
      self.assertIsNone(read())
    simulation.Workdir(summary.parent).write_summary(
      {**json.loads(whole), 'rounds': 1}
    )
    self.assertIsNone(read())
    # Another run's.
    fake_sweeps.write_result(folder, self.runs[1], 0.5)
    other = folder.workdir(self.runs[1].name) / 'summary.json'
    summary.write_bytes(other.read_bytes())
    self.assertIsNone(read())
    summary.write_text(whole)
    config = folder.workdir(run.name) / 'config.json'
    config.write_text(json.dumps({**run.config.values, 'batch_size': 1}))
    self.assertIsNone(read())

  def test_runs_are_in_the_folder(self):
    folder = fake_sweeps.write_sweep(self.path, self.runs)
    whole = folder.sweep_path.read_text()
    for name in ('../../outside', '..', '', '/etc', 'a/b'):
      content = json.loads(whole)
      content['runs'] = {name: next(iter(content['runs'].values()))}
      folder.sweep_path.write_text(json.dumps(content))
      with self.assertRaisesRegex(
        errors.InputError, f'got a run named {name!r}'
      ):
        folder.read_runs()

  def test_evaluated_runs(self):
    folder = fake_sweeps.write_sweep(self.path, self.runs)
    run = self.runs[0]
    fake_sweeps.write_result(folder, run, 0.5, evaluated=True)
    self.assertTrue(folder.is_evaluated(run.name, run.config.values))
    longer = {**run.config.values, 'rounds': 1000}
    self.assertFalse(folder.is_evaluated(run.name, longer))

  def test_a_damaged_summary_is_none(self):
    folder = fake_sweeps.write_sweep(self.path, self.runs)
    workdir = folder.workdir('a')
    workdir.mkdir()
    (workdir / 'config.json').write_text('{}')
    (workdir / 'summary.json').write_text('[]')
    self.assertIsNone(folder.read_summary('a', {}))

  def test_usage(self):
    folder = fake_sweeps.write_sweep(self.path, self.runs)
    self.assertEqual(folder.read_usage(), {})
    folder.usage_path.write_text('{"a": {"seconds": 1.0, "peak_bytes": 2}}')
    self.assertEqual(
      folder.read_usage(), {'a': {'seconds': 1.0, 'peak_bytes': 2}}
    )
