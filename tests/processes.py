# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Starting processes that tests interrupt."""

from collections.abc import Iterator
import contextlib
import signal


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
