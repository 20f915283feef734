# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Starting processes that tests interrupt, and seeing them gone."""

from collections.abc import Iterator
import contextlib
import signal
import subprocess
import threading

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


def is_gone(process: psutil.Process) -> bool:
  """Returns whether a process has ended; reaping an orphan is up to init."""
  try:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
  except psutil.NoSuchProcess:
    return True
