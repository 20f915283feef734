# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C at a chosen moment, for tests of what it stops."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import os
import signal
import threading

# Long enough for any machine, short enough to fail a test that hangs.
HANG_SECONDS = 120.0


def join_work() -> None:
  """Waits for the threads of calls that were interrupted."""
  for thread in threading.enumerate():
    if thread.name == 'cohort_execution_context':
      thread.join(HANG_SECONDS)


@contextlib.contextmanager
def interrupted_after(
  *events: threading.Event,
  handler: Callable[..., None] = signal.default_int_handler,
) -> Iterator[None]:
  """Sends this process an interrupt, for the block, after some events."""

  def interrupt() -> None:
    if all(event.wait(HANG_SECONDS) for event in events):
      os.kill(os.getpid(), signal.SIGINT)

  # A shell may have the interrupt ignored for what runs in the background.
  before = signal.signal(signal.SIGINT, handler)
  interrupter = threading.Thread(target=interrupt)
  try:
    interrupter.start()
    try:
      yield
    finally:
      interrupter.join()
  finally:
    signal.signal(signal.SIGINT, before)
