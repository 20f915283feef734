# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""New files, written under unguessable names until they are complete."""

from collections.abc import Collection
from collections.abc import Iterator
import contextlib
import os
import pathlib
import re
import secrets
import shutil
from typing import BinaryIO

_TEMPORARY_NAME = re.compile(r'.+\.[0-9a-f]{32}\.partial', re.DOTALL)


@contextlib.contextmanager
def new_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
  """Yields a new file, which replaces a path when the body ends.

  A reader, or a run after a crash, sees either the old content or the whole new
  one. A link at the path is replaced, not followed.

  Args:
    path: The path, in an existing folder.

  Yields:
    The file, open for writing.

  Raises:
    OSError: If it cannot be written; the old content is intact.
  """
  path = pathlib.Path(path)
  temporary = temporary_path(path)
  try:
    # Exclusive creation does not follow links.
    with open(temporary, 'xb') as file:
      yield file
      file.flush()
      os.fsync(file.fileno())
    os.replace(temporary, path)
    sync(path.parent)
  finally:
    # If the file cannot be removed, it could not be created either.
    with contextlib.suppress(OSError):
      temporary.unlink(missing_ok=True)


def temporary_path(path: str | os.PathLike[str]) -> pathlib.Path:
  """Returns a path beside another, for a file that is to replace it."""
  return pathlib.Path(temporary_name(path))


def temporary_name(path: str | os.PathLike[str]) -> str:
  """Returns the name of `temporary_path`, also for a URL."""
  return f'{os.fspath(path)}.{secrets.token_hex(16)}.partial'


def is_temporary(path: str | os.PathLike[str]) -> bool:
  """Returns whether a path is that of an interrupted `new_file`."""
  return _TEMPORARY_NAME.fullmatch(os.path.basename(path)) is not None


def remove_temporaries(
  folder: str | os.PathLike[str], *, skipped: Collection[str] = ()
) -> None:
  """Removes files and folders of interrupted processes below a folder.

  Args:
    folder: A folder to which no other process writes.
    skipped: The names of folders in it to which other processes may write.

  Raises:
    OSError: If one cannot be removed.
  """
  for parent, folders, names in os.walk(folder):
    folders[:] = [name for name in folders if name not in skipped]
    for name in filter(is_temporary, names):
      os.unlink(os.path.join(parent, name))
    for name in filter(is_temporary, tuple(folders)):
      path = os.path.join(parent, name)
      if not os.path.islink(path):
        shutil.rmtree(path)
        folders.remove(name)


def sync(path: str | os.PathLike[str]) -> None:
  """Makes a file's content or a folder's entries survive a power failure."""
  descriptor = os.open(path, os.O_RDONLY)
  try:
    os.fsync(descriptor)
  finally:
    os.close(descriptor)
