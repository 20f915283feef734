# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Starting processes that tests interrupt, and seeing them gone."""

from collections.abc import Iterator
import contextlib
import signal

import psutil


@contextlib.contextmanager
def interruptible_children() -> Iterator[None]:
  """Children started inside notice Ctrl-C, whoever started the tests.

  A shell without job control starts what it puts into the background with
  SIGINT ignored, which children inherit; a handler, unlike that, is not.
  """
  previous = signal.signal(signal.SIGINT, signal.default_int_handler)
  try:
    yield
  finally:
    signal.signal(signal.SIGINT, previous)


def is_gone(process: psutil.Process) -> bool:
  """Whether a process has ended; reaping an orphan is up to init."""
  try:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
  except psutil.NoSuchProcess:
    return True
