# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""New files, under names that nobody can guess until they are whole."""

from collections.abc import Collection
from collections.abc import Iterator
import contextlib
import os
import pathlib
import re
import secrets
from typing import BinaryIO

_TEMPORARY_NAME = re.compile(r'.+\.[0-9a-f]{32}\.partial', re.DOTALL)


@contextlib.contextmanager
def new_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
  """Gives a new file, which takes a path's place once the body has ended.

  A reader, or a run after a crash, sees the old content or all of the new one.
  What the path was, a link too, is replaced and not written to.

  Args:
    path: The path; its folder exists.

  Yields:
    The file, open for writing.

  Raises:
    OSError: If it cannot be written; the old content is intact.
  """
  path = pathlib.Path(path)
  temporary = temporary_path(path)
  try:
    # Exclusively: a link would not be followed.
    with open(temporary, 'xb') as file:
      yield file
      file.flush()
      os.fsync(file.fileno())
    os.replace(temporary, path)
    sync(path.parent)
  finally:
    # Whatever keeps it from being removed has kept it from being made.
    with contextlib.suppress(OSError):
      temporary.unlink(missing_ok=True)


def temporary_path(path: str | os.PathLike[str]) -> pathlib.Path:
  """Returns a path beside another for what is to take its place."""
  return pathlib.Path(temporary_name(path))


def temporary_name(path: str | os.PathLike[str]) -> str:
  """Returns what `temporary_path` does, also for a URL."""
  return f'{os.fspath(path)}.{secrets.token_hex(16)}.partial'


def is_temporary(path: str | os.PathLike[str]) -> bool:
  """Whether a path is one that an interrupted `new_file` leaves."""
  return _TEMPORARY_NAME.fullmatch(os.path.basename(path)) is not None


def remove_temporaries(
  folder: str | os.PathLike[str], *, skipped: Collection[str] = ()
) -> None:
  """Removes what interrupted processes have left in a folder and below it.

  Args:
    folder: A folder to which no other process writes.
    skipped: Names of folders in it to which others may write.

  Raises:
    OSError: If something cannot be removed.
  """
  for parent, folders, names in os.walk(folder):
    folders[:] = (name for name in folders if name not in skipped)
    for name in filter(is_temporary, names):
      os.unlink(os.path.join(parent, name))


def sync(path: str | os.PathLike[str]) -> None:
  """Makes a file's content or a folder's entries outlast a power failure."""
  descriptor = os.open(path, os.O_RDONLY)
  try:
    os.fsync(descriptor)
  finally:
    os.close(descriptor)
