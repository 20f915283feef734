# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of a run's folder: whose it is, and that nothing else is touched."""

import asyncio
import json
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap
from unittest import mock

from fedfish_tff import errors
from fedfish_tff.simulation import checkpoints
from fedfish_tff.simulation import workdir
from tests import processes

from absl.testing import parameterized

_CONFIG = {
  'algorithm': {'name': 'fed_avg', 'damping': 0.1},
  'task': {'name': 'digits', 'hidden_units': (64, 32)},
  'seed': 1,
  'rounds': 10,
}


def _changed(**changes):
  return {**_CONFIG, **changes}


class _Killed(BaseException):
  """Stands for a kill: nothing handles it."""


class OpenWorkdirTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path) / 'a' / 'w'

  def _open(self, config=_CONFIG, **kwargs):
    """Opens the folder, and closes it."""
    with workdir.open_workdir(self.path, config, **kwargs):
      pass

  def _assert_refused(self, message, config=_CONFIG, **kwargs):
    with self.assertRaisesRegex(errors.InputError, message):
      self._open(config, **kwargs)

  def _run(self):
    """Leaves a finished run."""
    with workdir.open_workdir(self.path, _CONFIG) as folder:
      folder.metrics_path.write_text('round\n')
      folder.checkpoints_path.mkdir()
      (folder.checkpoints_path / 'state').write_text('weights')
      folder.client_states_path.write_bytes(b'states')
      (folder.path / 'start').mkdir()
      (folder.path / 'start' / 'config.json').write_text('{}')
      (folder.path / 'start.npz').write_bytes(b'arrays')
      (folder.path / 'regularization.csv').write_text('regularization\n')
      folder.tensorboard_path.mkdir()
      folder.plots_path.mkdir()
      folder.write_summary({'rounds': 10, 'accuracy': 0.5})

  def test_opens_the_same_config_again(self):
    """It stays what the experiment is built from, whatever the data."""
    self._run()
    with workdir.open_workdir(
      self.path, _CONFIG, data_fingerprint={'train': 'a'}
    ) as folder:
      config = json.loads(folder.config_path.read_text())
      self.assertEqual(config, json.loads(json.dumps(_CONFIG)))
      self.assertEqual(folder.read_config()['seed'], 1)
      self.assertTrue((folder.checkpoints_path / 'state').exists())
      self.assertEqual(
        json.loads(folder.summary_path.read_text())['accuracy'], 0.5
      )

  def test_names_the_fields_that_differ(self):
    self._run()
    config = _changed(
      seed=2, algorithm={'name': 'fed_fish', 'damping': 0.1, 'new': None}
    )
    before = sorted(self.path.rglob('*'))
    with self.assertRaises(errors.InputError) as raised:
      self._open(config)
    message = str(raised.exception)
    self.assertIn('algorithm.name ("fed_avg" there, "fed_fish" asked', message)
    self.assertIn('seed (1 there, 2 asked for)', message)
    self.assertIn('algorithm.new (absent there, null asked for)', message)
    self.assertNotIn('damping', message)
    self.assertNotIn('rounds', message)
    self.assertIn('--overwrite', message)
    self.assertEqual(sorted(self.path.rglob('*')), before)

  def test_overwrite_starts_afresh_and_leaves_what_is_not_of_the_run(self):
    self._run()
    (self.path / 'notes.txt').write_text('mine')
    with workdir.open_workdir(
      self.path, _changed(seed=2), overwrite=True
    ) as folder:
      self.assertEqual(folder.read_config()['seed'], 2)
    self.assertCountEqual(os.listdir(self.path), ['config.json', 'notes.txt'])

  def test_a_start_stays_a_workdir_until_it_is_gone(self):
    """Killed while the start is removed, the folder is one that can be used."""
    self._open()
    with workdir.open_workdir(self.path / 'start', _CONFIG):
      (self.path / 'start' / 'checkpoints').mkdir()

    remove = shutil.rmtree

    def die(path):
      if path == self.path / 'start':
        raise _Killed()
      remove(path)

    with mock.patch.object(shutil, 'rmtree', autospec=True, side_effect=die):
      with self.assertRaises(_Killed):
        self._open(overwrite=True)
    with workdir.open_workdir(self.path / 'start', _CONFIG):
      pass

  @parameterized.parameters(*range(1, 10))
  def test_overwrite_killed_at_any_step(self, step):
    """The files that checkpoints resume from are never removed before them."""
    self._run()
    before = sorted(self.path.iterdir())
    removed = []

    def dying(real):
      def call(*args, **kwargs):
        removed.append(args)
        if len(removed) == step:
          raise _Killed()
        return real(*args, **kwargs)

      return call

    with (
      mock.patch.object(
        shutil, 'rmtree', autospec=True, side_effect=dying(shutil.rmtree)
      ),
      mock.patch.object(
        pathlib.Path,
        'unlink',
        autospec=True,
        side_effect=dying(pathlib.Path.unlink),
      ),
    ):
      with self.assertRaises(_Killed):
        self._open(overwrite=True)
    left = [path for path in before if path.exists()]
    if self.path / 'checkpoints' in left:
      self.assertEqual(left, before)
    self.assertIn(self.path / 'config.json', left)
    self._open(_changed(seed=2), overwrite=True)

  def test_names_the_parts_of_the_data_that_differ(self):
    data = {'train': 'a', 'validation': 'b', 'test': 'c'}
    self._open(data_fingerprint=data)
    before = {p: p.read_bytes() for p in self.path.iterdir()}
    self._open(data_fingerprint=dict(reversed(data.items())))
    self._assert_refused(
      f'{self.path} holds a run on other data: data_fingerprint of train, test '
      r'differs; another --data_dir\?',
      data_fingerprint={**data, 'train': 'x', 'test': 'y'},
    )
    self.assertEqual({p: p.read_bytes() for p in self.path.iterdir()}, before)
    with workdir.open_workdir(
      self.path, _CONFIG, data_fingerprint={'train': 'x'}, overwrite=True
    ) as folder:
      self.assertEqual(
        json.loads(folder.data_fingerprint_path.read_text()), {'train': 'x'}
      )

  def test_a_note_of_the_data_is_the_last_one(self):
    for data in ({'data_dir': 'a'}, {'data_dir': 'b'}, None):
      with workdir.open_workdir(self.path, _CONFIG, data=data) as folder:
        pass
    self.assertEqual(folder.read_data(), {'data_dir': 'b'})
    note = folder.data_path.read_text()
    for damaged in (note.replace('b', 'c'), note[:-5], '[]', '1'):
      folder.data_path.write_text(damaged)
      with self.assertRaisesRegex(errors.InputError, 'data.json'):
        folder.read_data()
    with workdir.open_workdir(self.path, _CONFIG, overwrite=True):
      self.assertEqual(folder.read_data(), {})

  @parameterized.parameters(
    ('data_fingerprint.json', '{"tra', 'valid JSON'),
    ('data_fingerprint.json', '[]', 'an object'),
    ('data_fingerprint.json', os.mkdir, 'Cannot read .*: Is a directory'),
    ('config.json', os.mkdir, 'Cannot read .*: Is a directory'),
    # A pipe is not waited for.
    ('config.json', os.mkfifo, 'config.json'),
    ('metrics.csv', os.mkfifo, 'metrics.csv'),
  )
  def test_a_file_that_cannot_be_read(self, name, content, message):
    self._run()
    path = self.path / name
    path.unlink(missing_ok=True)
    path.write_text(content) if isinstance(content, str) else content(path)
    self._assert_refused(message, data_fingerprint={'train': 'a'})

  @parameterized.product(
    content=('{}', 'not JSON', None, '{"model_type": "bert"}', '[]'),
    overwrite=(False, True),
  )
  def test_refuses_a_folder_of_something_else(self, content, overwrite):
    self.path.mkdir(parents=True)
    name = 'thesis.tex' if content is None else 'config.json'
    (self.path / name).write_text(content or 'years of work')
    self._assert_refused('not empty .*Nothing was', overwrite=overwrite)
    self.assertEqual(os.listdir(self.path), [name])

  def test_takes_a_folder_left_before_the_config_was_whole(self):
    self.path.mkdir(parents=True)
    (self.path / '.lock').touch()
    left = self.path / f'config.json.{"0" * 32}.partial'
    left.write_text('{"alg')
    with workdir.open_workdir(self.path, _CONFIG) as folder:
      self.assertEqual(folder.read_config()['rounds'], 10)
    self.assertFalse(left.exists())

  def test_two_processes_do_not_write_one_workdir(self):
    program = textwrap.dedent(f"""
      import sys
      from fedfish_tff.simulation import workdir
      with workdir.open_workdir({str(self.path)!r}, {_CONFIG!r}):
        print('open', flush=True)
        sys.stdin.read()
    """)
    with subprocess.Popen(
      [sys.executable, '-c', program],
      stdin=subprocess.PIPE,
      stdout=subprocess.PIPE,
      env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)},
    ) as other:
      with processes.killed_if_hanging(other):
        self.assertEqual(other.stdout.readline(), b'open\n')
      self._assert_refused('another process', overwrite=True)
      other.kill()
      other.wait(processes.HANG_SECONDS)
      self._open()

  def test_links_matter_where_runs_read_or_write(self):
    self._run()
    for others in ('wandb/run/logs', 'mlruns/0'):
      (self.path / others).mkdir(parents=True)
      (self.path / others / 'link').symlink_to('/etc/hostname')
    self._open()
    for ours in ('plots/link', 'start/checkpoints', 'evaluation', '.lock'):
      (self.path / ours).symlink_to('/etc')
      self._assert_refused(f'/{ours} must be .*link that leads out', _CONFIG)
      (self.path / ours).unlink()

  @parameterized.parameters('{file}', '{file}/w', '/proc/w')
  def test_a_path_that_cannot_be_a_folder(self, path):
    file = self.create_tempfile().full_path
    path = path.format(file=file)
    with self.assertRaisesRegex(errors.InputError, f'Cannot write {path}: '):
      with workdir.open_workdir(path, _CONFIG):
        pass

  @parameterized.parameters(
    ('metrics.csv', 'round,a\n0,0.5\n1,0.5\n2,9\n'),
    ('metrics.csv', 'round,a\n0,0.5\n'),
    ('metrics.csv', None),
    ('config.json', None),
    ('data_fingerprint.json', '{"train": "b"}'),
    ('data_fingerprint.json', None),
  )
  def test_files_that_changed_since_the_checkpoint(self, name, content):
    metrics = 'round,a\n0,0.5\n1,0.25\n2,0.125\n'
    with workdir.open_workdir(
      self.path, _CONFIG, data_fingerprint={'train': 'a'}
    ) as folder:
      folder.metrics_path.write_text(metrics)
      manager = checkpoints.CheckpointManager(
        folder.checkpoints_path, run_digests=folder.digests
      )
      asyncio.run(manager.save((), 1))
      # What comes later is none of the checkpoint's.
      folder.metrics_path.write_text(metrics.replace('0.125', '0.5'))
      folder.check_files()
      path = folder.path / name
      if content is None:
        path.unlink()
      else:
        path.write_text(content)
      with self.assertRaisesRegex(
        errors.InputError, f'{path} is (not what|missing)'
      ):
        folder.check_files()

  def test_a_summary_is_of_one_run_and_of_all_its_rows(self):
    metrics = 'round,a\n0,0.5\n1,0.25\n2,0.125\n'
    summary = {'rounds': 2, 'test': {}}
    with workdir.open_workdir(
      self.path, _CONFIG, data_fingerprint={'train': 'a'}
    ) as folder:
      self.assertEqual(folder.read_summary(), {})
      folder.metrics_path.write_text(metrics)
      folder.write_summary(summary)
      self.assertEqual(folder.read_summary(), summary)
      whole = folder.summary_path.read_text()
      for damaged in ('{', '[]', '{}', whole.replace('2', '1', 1)):
        folder.summary_path.write_text(damaged)
        with self.assertRaisesRegex(errors.InputError, 'summary.json'):
          folder.read_summary()
      folder.summary_path.write_text(whole)
      for path, content in (
        # Of an earlier moment, and of another run.
        (folder.metrics_path, metrics[:-8]),
        (folder.metrics_path, metrics.replace('0.5', '1.5')),
        (folder.config_path, json.dumps(_changed(seed=2))),
        (folder.data_fingerprint_path, '{"train": "b"}'),
      ):
        before = path.read_text()
        path.write_text(content)
        with self.assertRaisesRegex(
          errors.InputError, f'another run, or {path.name} is not what it was'
        ):
          folder.read_summary()
        path.write_text(before)
      self.assertEqual(folder.read_summary(), summary)

  def test_a_folder_without_run_has_no_config(self):
    with self.assertRaisesRegex(errors.InputError, 'not a workdir'):
      workdir.Workdir(self.path).read_config()
