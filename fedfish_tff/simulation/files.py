# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Files and folders of a run, and the errors if they cannot be written."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
import contextlib
import errno
import os
import pathlib
import stat
from typing import TYPE_CHECKING

from fedfish_tff import errors
from fedfish_tff import locks
from fedfish_tff import new_files

if TYPE_CHECKING:  # Importing TensorFlow takes seconds.
  import tensorflow as tf

LOCK_NAME = '.lock'
_SYSTEM_ERRORS = (
  errno.ENOSPC,
  errno.EDQUOT,
  errno.EFBIG,
  errno.EROFS,
  errno.EACCES,
  errno.EPERM,
  errno.ENOTDIR,
)


def write_atomically(
  path: str | os.PathLike[str], content: bytes | memoryview
) -> None:
  """Writes a file by `new_files.new_file`.

  If it cannot be written, the old content is intact.

  Args:
    path: The file, in an existing folder.
    content: The whole new content.
  """
  try:
    with new_files.new_file(path) as file:
      file.write(content)
  except OSError as error:
    raise unwritable_error(path, error) from error


def make_folder(path: str | os.PathLike[str]) -> pathlib.Path:
  """Creates a folder and its parents if need be; returns its path."""
  path = pathlib.Path(path)
  try:
    path.mkdir(parents=True, exist_ok=True)
  except OSError as error:
    raise unwritable_error(path, error) from error
  return path


@contextlib.contextmanager
def locked_folder(
  folder: str | os.PathLike[str], *, in_use: str, skipped: Collection[str] = ()
) -> Iterator[None]:
  """Locks a folder, and removes the temporary files of killed processes.

  Args:
    folder: An existing folder.
    in_use: The message of the error if another process holds the lock.
    skipped: The names of its folders to which other processes may write.
  """
  with contextlib.ExitStack() as stack:
    try:
      stack.enter_context(
        locks.hold(pathlib.Path(folder, LOCK_NAME), in_use=in_use)
      )
      new_files.remove_temporaries(folder, skipped=skipped)
    except OSError as error:
      raise unwritable_error(folder, error) from error
    yield


def check_entries(
  folder: str | os.PathLike[str],
  *,
  is_read: Callable[[pathlib.PurePath], bool] = lambda path: True,
) -> None:
  """Checks that a folder holds files and folders of its own only.

  Pipes, devices, sockets and links that lead out of the folder are errors:
  opening a pipe would block, and such a link would let a run write elsewhere.

  Args:
    folder: The folder, which may itself be a link and need not exist.
    is_read: A function from a path in the folder to whether anything is read
      or written there. Others may have left what they like elsewhere.
  """
  root = os.path.realpath(folder)
  for parent, folders, names in os.walk(folder):
    inside = pathlib.PurePath(os.path.relpath(parent, folder))
    folders[:] = [name for name in folders if is_read(inside / name)]
    names = [name for name in names if is_read(inside / name)]
    for path in (os.path.join(parent, name) for name in folders + names):
      try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
          if not pathlib.Path(os.path.realpath(path)).is_relative_to(root):
            raise errors.InputError(
              f'{path} must be a file or folder, got a link that leads out of '
              f'{os.fspath(folder)}.'
            )
          mode = os.stat(path).st_mode
      # Another process has removed it, or the link leads to nothing.
      except OSError:
        continue
      if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise errors.InputError(
          f'{path} must be a file, got a pipe, a device or a socket.'
        )


def unwritable_error(
  path: str | os.PathLike[str], error: 'OSError | tf.errors.OpError'
) -> errors.InputError:
  """Returns the error for a path that cannot be written.

  Args:
    path: The file or folder.
    error: Python's error, or that of TensorFlow's file system.
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
  # TensorFlow puts the system's message after names of its internals.
  for number in _SYSTEM_ERRORS:
    if os.strerror(number) in error.message:
      return number, os.strerror(number)
  return None, error.message.splitlines()[0] if error.message else repr(error)
