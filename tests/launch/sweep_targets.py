# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the processes of tests of the sweep's runner do."""

import os
import pathlib
import signal
import sys
import time

from fedfish_tff import errors

_GIVE_UP_SECONDS = 60.0


def touch(path):
  """Makes a file and prints."""
  print('it touches')
  print('on stderr', file=sys.stderr)
  pathlib.Path(path).touch()


def fail(kind):
  """Raises."""
  if kind == 'input':
    raise errors.InputError('The input is bad,\non two lines.')
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


def _write_pid(path):
  temporary = pathlib.Path(f'{path}.partial')
  temporary.write_text(str(os.getpid()))
  temporary.rename(path)
