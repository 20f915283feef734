# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""New folders with one .npz file per client, complete or absent."""

from collections.abc import Iterator
import contextlib
import hashlib
import os
import pathlib
import re
import shutil
import stat

from fedfish_tff import errors
from fedfish_tff import locks
from fedfish_tff import new_files
from fedfish_tff import simulation
from fedfish_tff.simulation import files

import numpy as np

# Below the 255 bytes of file systems, to leave room for suffixes.
_MOST_BYTES = 200
_LOCK_SUFFIX = '.lock'
_UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\%]|^\.')


def client_id(name: str) -> str:
  """Returns the id of the client `name`, which is also a valid file name.

  The id is the name itself if possible. Slashes, control characters and a
  leading dot are escaped (%2F), and long names are truncated and followed by a
  hash. Different names have different ids.

  Args:
    name: The client's name, any text.
  """
  if not name:
    return '%'  # No other name has this id.
  safe = _UNSAFE.sub(lambda match: f'%{ord(match[0]):02X}', name)
  encoded = safe.encode()
  if len(encoded) <= _MOST_BYTES:
    return safe
  start = encoded[:_MOST_BYTES].decode(errors='ignore')
  return f'{start}%{hashlib.sha256(name.encode()).hexdigest()[:16]}'


def check_is_free(folder: str | os.PathLike[str]) -> None:
  """Raises an InputError unless the folder is empty or does not exist."""
  folder = pathlib.Path(folder)
  is_folder = folder.is_dir()
  if not folder.exists() or (is_folder and not any(folder.iterdir())):
    return
  found = 'a folder that is not empty' if is_folder else 'a file'
  raise errors.InputError(
    f'{folder} must be a new folder, since nothing is overwritten, got {found}.'
  )


@contextlib.contextmanager
def new_folder(
  folder: str | os.PathLike[str], *, work: str | None = None
) -> Iterator[pathlib.Path]:
  """Yields a folder to write to, which becomes `folder` once it is complete.

  Until then it stands beside `folder` under an unguessable name. It is removed
  if writing fails; the next call removes the remains of a killed process. Two
  processes cannot write it at a time.

  Args:
    folder: An empty folder, or a path that does not exist.
    work: The name of an entry that marks resumable work. A partial folder with
      this entry is never removed, and the next call continues with it.
  """
  folder = pathlib.Path(folder).resolve()
  check_is_free(folder)
  with contextlib.ExitStack() as stack:
    try:
      partial = _open_partial(folder, work, stack)
    except OSError as error:
      raise files.unwritable_error(folder, error) from error
    # Checked again, because another process may have finished meanwhile.
    check_is_free(folder)
    try:
      simulation.check_entries(partial)
      yield partial
      new_files.sync(partial)
      os.replace(partial, folder)
      new_files.sync(folder.parent)
    except BaseException as error:
      if not _has(partial, work):
        shutil.rmtree(partial, ignore_errors=True)
      if isinstance(error, OSError):
        raise files.unwritable_error(folder, error) from error
      raise


def _open_partial(
  folder: pathlib.Path, work: str | None, stack: contextlib.ExitStack
) -> pathlib.Path:
  """Returns a locked folder with resumable work, or else a new one.

  Args:
    folder: The folder that it will become.
    work: The name of an entry that marks resumable work; None for none.
    stack: The holder of the lock.
  """
  in_use = (
    f'Another process is writing {folder}; wait for its end or choose another '
    'folder.'
  )
  found = None
  for left in _find_partials(folder):
    with contextlib.ExitStack() as lock:
      lock.enter_context(locks.hold(_lock_path(left), in_use=in_use))
      if found is None and _has(left, work):
        found = left
        stack.push(lock.pop_all())
      elif left.is_dir() and not _has(left, work):
        shutil.rmtree(left)
  if found is None:
    found = new_files.temporary_path(folder)
    stack.enter_context(locks.hold(_lock_path(found), in_use=in_use))
    found.mkdir()
  return found


def _find_partials(folder: pathlib.Path) -> list[pathlib.Path]:
  """Returns the partial folders of this user, and those of which a lock is left."""
  if not folder.parent.is_dir():
    return []
  found = set()
  for path in folder.parent.iterdir():
    partial = path.with_name(path.name.removesuffix(_LOCK_SUFFIX))
    is_named = partial.name.rsplit('.', 2)[0] == folder.name
    if is_named and new_files.is_temporary(partial):
      status = os.lstat(path)
      kind = stat.S_ISDIR if path == partial else stat.S_ISREG
      # Another user could read what is written into a folder of theirs.
      if kind(status.st_mode) and status.st_uid == os.geteuid():
        found.add(partial)
  return sorted(found)


def _lock_path(partial: pathlib.Path) -> pathlib.Path:
  return partial.with_name(partial.name + _LOCK_SUFFIX)


def write_client(folder: pathlib.Path, name: str, **arrays: np.ndarray) -> None:
  """Writes one client's examples, as `NpzFolderClientData` reads them.

  Args:
    folder: The folder that `new_folder` yields.
    name: The client's id, of `client_id`.
    **arrays: The features x, [n, ...], and labels y, [n]; and x_test and y_test
      of the client's own test data, if there are any.
  """
  with open(folder / f'{name}.npz', 'xb') as file:
    np.savez(file, **arrays)
    file.flush()
    os.fsync(file.fileno())


def _has(folder: pathlib.Path, work: str | None) -> bool:
  return work is not None and (folder / work).exists()
