# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""How far workers are, seen from the process that waits for them.

Whatever the runner: each worker appends bytes to a file of a folder that all
see, and the sizes of these files are counted.
"""

from collections.abc import Iterator
import contextlib
import os
import pathlib
import sys
import threading

import tqdm

_SECONDS = 0.5
_MOST_STEPS = 1000


class WorkProgress:
  """Tells how much of a piece of work is done."""

  def __init__(
    self, folder: str | os.PathLike[str], name: str, *, total: int
  ) -> None:
    """Prepares; nothing is told yet.

    Args:
      folder: An existing folder that is watched.
      name: The name of the piece of work.
      total: How much all pieces of work are.
    """
    self._path = pathlib.Path(folder) / name
    self._step = step_size(total)
    self._done = 0
    self._told = 0

  def __call__(self, amount: int) -> None:
    """Adds to what is done.

    Raises:
      OSError: If the folder cannot be written.
    """
    self._done += amount
    steps = self._done // self._step - self._told
    if steps > 0:
      with open(self._path, 'ab') as file:
        file.write(b'.' * steps)
      self._told += steps


@contextlib.contextmanager
def watched(
  folder: str | os.PathLike[str], *, total: int, description: str, unit: str
) -> Iterator[None]:
  """Shows a bar on stderr, if that is a terminal, while the body runs.

  Args:
    folder: The folder that workers write to; it is made.
    total: How much all pieces of work are.
    description: What is done.
    unit: The unit of amounts; 'B' for bytes.
  """
  folder = pathlib.Path(folder)
  folder.mkdir(parents=True, exist_ok=True)
  if not sys.stderr.isatty():
    yield
    return
  ended = threading.Event()
  with tqdm.tqdm(
    total=total,
    desc=description,
    unit=unit,
    unit_scale=unit == 'B',
    dynamic_ncols=True,
  ) as bar:

    def count() -> None:
      sizes = sum(entry.stat().st_size for entry in os.scandir(folder))
      # Work that was done twice does not count twice.
      bar.update(min(sizes * step_size(total), total) - bar.n)

    def watch() -> None:
      while not ended.wait(_SECONDS):
        count()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
      yield
      bar.update(total - bar.n)
    finally:
      ended.set()
      thread.join()


def step_size(total: int) -> int:
  """Returns how much work a byte of the files stands for."""
  return max(1, total // _MOST_STEPS)
