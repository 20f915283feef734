# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Starting processes that tests interrupt, and seeing them gone."""

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

from tests import repository

import psutil

# Long enough for any machine, short enough to fail a test that hangs.
HANG_SECONDS = 300.0


@contextlib.contextmanager
def interruptible_children() -> Iterator[None]:
  """Children started inside notice signals, whoever started the tests.

  A shell without job control starts what it puts into the background with
  SIGINT ignored, nohup does so with SIGHUP, and children inherit that; a
  handler, unlike that, is not inherited.
  """
  with contextlib.ExitStack() as stack:
    for number in (signal.SIGINT, signal.SIGHUP):
      previous = signal.signal(number, signal.default_int_handler)
      stack.callback(signal.signal, number, previous)
    yield


@contextlib.contextmanager
def killed_if_hanging(*processes: subprocess.Popen) -> Iterator[None]:
  """Kills processes if the block takes long: reading from them then ends."""

  def kill() -> None:
    for process in processes:
      process.kill()

  timer = threading.Timer(HANG_SECONDS, kill)
  timer.start()
  try:
    yield
  finally:
    timer.cancel()


def run_program(
  code: str, *, check: bool = True, **variables: str
) -> subprocess.CompletedProcess[str]:
  """Runs Python code without TensorFlow's settings; returns how it ended.

  Args:
    code: The code, which may import the repository.
    check: Whether another exit code than 0 is an error.
    **variables: Variables of its environment.
  """
  kept = {k: v for k, v in os.environ.items() if k[:3] != 'TF_'}
  paths = [str(repository.ROOT), *filter(None, sys.path)]
  return subprocess.run(
    [sys.executable, '-c', code],
    env=kept | {'PYTHONPATH': os.pathsep.join(paths)} | variables,
    capture_output=True,
    text=True,
    check=check,
    timeout=HANG_SECONDS,
  )


@contextlib.contextmanager
def script(
  code: str, *, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen]:
  """Runs Python code in a session of its own; ends it with what it forked."""
  with interruptible_children():
    process = subprocess.Popen(
      [sys.executable, '-c', code],
      stdin=subprocess.PIPE,
      stdout=subprocess.PIPE,
      stderr=subprocess.PIPE,
      text=True,
      env=environment,
      start_new_session=True,
    )
  try:
    with killed_if_hanging(process):
      yield process
  finally:
    # What it forked may still be there.
    with contextlib.suppress(ProcessLookupError):
      os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=HANG_SECONDS)


def child_of(process: subprocess.Popen) -> psutil.Process | None:
  """Returns the child whose id is a script's first line; None if it ended."""
  line = process.stdout.readline()
  if not line:
    raise AssertionError(process.communicate(timeout=HANG_SECONDS)[1])
  try:
    return psutil.Process(int(line))
  except psutil.NoSuchProcess:
    return None


def outputs_of_end(
  process: subprocess.Popen, child: psutil.Process | None
) -> tuple[str, str]:
  """Waits until a script and its child have ended; returns what it wrote."""
  # Returns once no process has the script's stdout or stderr open.
  outputs = process.communicate(timeout=HANG_SECONDS)
  deadline = time.monotonic() + HANG_SECONDS
  while child is not None and not is_gone(child):
    assert time.monotonic() < deadline, f'{child} did not end.'
    time.sleep(0.02)
  return outputs


def is_gone(process: psutil.Process) -> bool:
  """Returns whether a process has ended; reaping an orphan is up to init."""
  try:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
  except psutil.NoSuchProcess:
    return True
