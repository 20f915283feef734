# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Files that are either whole or not there."""

import errno
import os
import pathlib
from typing import TYPE_CHECKING

from fedfish_tff import errors

if TYPE_CHECKING:  # Whose import takes seconds.
  import tensorflow as tf

_SYSTEM_ERRORS = (
  errno.ENOSPC,
  errno.EDQUOT,
  errno.EFBIG,
  errno.EROFS,
  errno.EACCES,
  errno.EPERM,
  errno.ENOTDIR,
)
_TEMPORARY_SUFFIX = '.partial'


def write_atomically(
  path: str | os.PathLike[str], content: bytes | memoryview
) -> None:
  """Writes a file under a temporary name, then renames it.

  A reader, or a run after a crash, sees the old content or the new one.

  Args:
    path: The file; its folder exists.
    content: All of the new content.

  Raises:
    errors.InputError: If it cannot be written; the old content is intact.
  """
  path = pathlib.Path(path)
  temporary = path.with_name(path.name + _TEMPORARY_SUFFIX)
  try:
    with open(temporary, 'wb') as file:
      file.write(content)
      file.flush()
      os.fsync(file.fileno())
    os.replace(temporary, path)
    sync(path.parent)
  except OSError as error:
    try:
      temporary.unlink(missing_ok=True)
    except OSError:  # Whatever keeps it from being written, the next is clear.
      raise unwritable_error(path, error) from error
    raise unwritable_error(path, error) from error


def make_folder(path: str | os.PathLike[str]) -> pathlib.Path:
  """Makes a folder with its parents unless it is there; returns its path.

  Args:
    path: The folder.

  Raises:
    errors.InputError: If it cannot be made.
  """
  path = pathlib.Path(path)
  try:
    path.mkdir(parents=True, exist_ok=True)
  except OSError as error:
    raise unwritable_error(path, error) from error
  return path


def check_entries(folder: str | os.PathLike[str]) -> None:
  """Checks that below a folder are files and folders: a pipe is waited for.

  Args:
    folder: The folder; it need not exist.

  Raises:
    errors.InputError: If there is a pipe, a device or a socket.
  """
  for parent, _, names in os.walk(folder):
    for path in (pathlib.Path(parent, name) for name in names):
      if path.exists() and not path.is_file():
        raise errors.InputError(
          f'{path} is a pipe, a device or a socket; a file was expected.'
        )


def is_temporary(path: str | os.PathLike[str]) -> bool:
  """Whether the path is one that an interrupted `write_atomically` leaves."""
  return os.fspath(path).endswith(_TEMPORARY_SUFFIX)


def sync(path: str | os.PathLike[str]) -> None:
  """Makes a file's content or a folder's entries outlast a power failure."""
  descriptor = os.open(path, os.O_RDONLY)
  try:
    os.fsync(descriptor)
  finally:
    os.close(descriptor)


def unwritable_error(
  path: str | os.PathLike[str], error: 'OSError | tf.errors.OpError'
) -> errors.InputError:
  """Returns the error for a path that cannot be written.

  Args:
    path: What was to be written.
    error: Python's error, or TensorFlow's from its own file system.
  """
  number, reason = _number_and_reason(error)
  advice = (
    '; free some space and run the same command again'
    if number in (errno.ENOSPC, errno.EDQUOT)
    else ''
  )
  return errors.InputError(f'Cannot write {os.fspath(path)}: {reason}{advice}.')


def _number_and_reason(
  error: 'OSError | tf.errors.OpError',
) -> tuple[int | None, str]:
  if isinstance(error, OSError):
    return error.errno, error.strerror or str(error)
  # TensorFlow puts the system's words behind names of its own internals.
  for number in _SYSTEM_ERRORS:
    if os.strerror(number) in error.message:
      return number, os.strerror(number)
  return None, error.message.splitlines()[0] if error.message else repr(error)
