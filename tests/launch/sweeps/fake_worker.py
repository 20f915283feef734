# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The worker's program with other work than training, which jobs name."""

import os
import pathlib
import shutil
import signal
import sys
import time

from fedfish_tff import errors
from launch import cli
from launch.sweeps import worker
from launch.sweeps import workers

_GIVE_UP_SECONDS = 60.0


class TestCase:
  """Jobs of a fake worker and their outcomes."""

  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.ended = {}
    self.enter_context(replace_worker())

  def _job(self, name, function, group=None, after=(), **arguments):
    return worker.Job(
      name=name,
      group=group,
      after=after,
      arguments={'function': function.__name__, **arguments},
      log_path=str(self.folder / f'{name}.log'),
      heading=f'the heading of {name}',
      versions=worker.versions(),
    )

  def _write_pid(self, name, group):
    return self._job(name, write_pid, group=group, path=self._path(name))

  def _path(self, name):
    return str(self.folder / name)

  def _on_end(self, job, outcome):
    self.ended[job.name] = outcome


def replace_worker():
  """Returns a patch by which sweeps run this program."""
  # Imported late: each worker imports this module.
  from unittest import mock  # pylint: disable=g-import-not-at-top

  return mock.patch.object(
    workers,
    'MODULE',
    'tests.launch.sweeps.fake_worker',
  )


def touch(path):
  """Makes a file and prints."""
  print('it touches')
  print('on stderr', file=sys.stderr)
  # As a library in C prints, not through Python.
  os.write(1, b'on descriptor 1\n')
  pathlib.Path(path).touch()


def write_pid(path):
  """Writes the id of its process."""
  temporary = pathlib.Path(f'{path}.partial')
  temporary.write_text(str(os.getpid()))
  temporary.rename(path)


def fail(kind):
  """Raises."""
  if kind == 'input':
    raise errors.InputError('The input is bad,\non two lines.')
  if kind == 'long':
    raise RuntimeError('x' * 200_000 + ' the end')
  raise RuntimeError('a defect')


def kill_itself(number):
  """Dies by a signal."""
  os.kill(os.getpid(), number)
  time.sleep(_GIVE_UP_SECONDS)


def leave(code):
  """Ends without a word."""
  os._exit(code)


def write_cores(path):
  """Writes the cores that it may use."""
  pathlib.Path(path).write_text(repr(sorted(os.sched_getaffinity(0))))


def hold(num_bytes):
  """Takes memory."""
  return len(bytes(b'x' * num_bytes))


def sleep(path):
  """Waits to be stopped."""
  write_pid(path)
  time.sleep(_GIVE_UP_SECONDS)


def sleep_deaf(path):
  """Waits, and cannot be stopped but by SIGKILL or the end of stdin."""
  signal.signal(signal.SIGTERM, signal.SIG_IGN)
  sleep(path)


def train(*, workdir, is_trained, evaluated, data_dir, starts, **unused):
  """Leaves what a finished run leaves; fails where a file says so.

  The folder of the data has the results of each run, since what makes them takes
  longer to import than all else here.
  """
  workdir, data_dir = pathlib.Path(workdir), pathlib.Path(data_dir)
  if (data_dir / 'wait').exists():
    sleep(data_dir / 'begun')
  for start in map(pathlib.Path, starts.values()):
    print(f'{start.name} is finished:', (start / 'summary.json').exists())
  if (data_dir / f'fail_{workdir.name}').exists():
    raise errors.InputError('The data are missing.')
  results = data_dir / 'results' / 'runs' / workdir.name
  if not is_trained:
    ignore = shutil.ignore_patterns('evaluation')
    shutil.copytree(results, workdir, ignore=ignore)
  if evaluated:
    shutil.copytree(results / 'evaluation', workdir / 'evaluation')


def _work(*, function='train', **arguments):
  globals()[function](**arguments)


if __name__ == '__main__':
  worker.train = _work
  cli.run(worker.main)
