# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The work of processes in tests of the sweep's runner."""

import json
import os
import pathlib
import signal
import sys
import time
import types

from fedfish_tff import errors
from launch.results import sweep_folder
from launch.sweeps import worker
from tests.launch.sweeps import fake_sweeps

_GIVE_UP_SECONDS = 60.0


class RunnerTest:
  """Jobs and their outcomes, in a test of a runner."""

  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.ended = {}

  def _job(self, name, function, group=None, after=(), **arguments):
    return worker.Job(
      name=name,
      group=group,
      after=after,
      function=function,
      arguments=arguments,
      log_path=self.folder / f'{name}.log',
      heading=f'the heading of {name}',
    )

  def _write_pid(self, name, group):
    path = self.folder / name
    return self._job(name, write_pid, group=group, path=path)

  def _on_end(self, job, outcome):
    self.ended[job.name] = outcome


def touch(path):
  """Makes a file and prints."""
  print('it touches')
  print('on stderr', file=sys.stderr)
  pathlib.Path(path).touch()


def write_pid(path):
  """Writes in which process it runs."""
  pathlib.Path(path).write_text(str(os.getpid()))


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


def write_cores(path, until):
  """Writes the cores it may use once `until` processes have begun."""
  path = pathlib.Path(path)
  path.with_suffix('.begun').touch()
  give_up = time.monotonic() + _GIVE_UP_SECONDS
  while len(list(path.parent.glob('*.begun'))) < until:
    if time.monotonic() > give_up:
      raise RuntimeError('The others do not run at the same time.')
    time.sleep(0.02)
  path.write_text(repr(sorted(os.sched_getaffinity(0))))


def hold(num_bytes):
  """Takes memory."""
  return len(bytes(b'x' * num_bytes))


def sleep(path):
  """Waits to be stopped."""
  _write_pid(path)
  time.sleep(_GIVE_UP_SECONDS)


def sleep_deaf(path):
  """Waits, and cannot be stopped but by SIGKILL."""
  signal.signal(signal.SIGTERM, signal.SIG_IGN)
  sleep(path)


def train(
  *, config, workdir, is_trained, evaluated, data_dir, starts, **unused
):
  """Leaves what a finished run leaves; fails where a file says so."""
  for start in starts.values():
    print(f'{start.name} is finished:', (start / 'summary.json').exists())
  if (pathlib.Path(data_dir) / f'fail_{workdir.name}').exists():
    raise errors.InputError('The data are missing.')
  run = types.SimpleNamespace(
    name=workdir.name, config=types.SimpleNamespace(values=config)
  )
  folder = sweep_folder.SweepFolder(workdir.parents[1])
  if not is_trained:
    workdir.mkdir(parents=True, exist_ok=True)
    data = {'train': pathlib.Path(data_dir).name}
    (workdir / 'data_fingerprint.json').write_text(json.dumps(data))
    diverges = (pathlib.Path(data_dir) / f'diverge_{workdir.name}').exists()
    fake_sweeps.write_result(
      folder, run, config['seed'] / 10, diverged=3 if diverges else None
    )
  if evaluated:
    fake_sweeps.write_evaluation(folder, run)


def _write_pid(path):
  temporary = pathlib.Path(f'{path}.partial')
  temporary.write_text(str(os.getpid()))
  temporary.rename(path)


def wait(*, data_dir, **unused):
  """Waits in place of training."""
  sleep(pathlib.Path(data_dir) / 'begun')
