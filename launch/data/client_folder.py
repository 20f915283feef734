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

  Until then it is called `<folder>.partial`. It is removed if writing fails;
  the next call removes the remains of a killed process.

  Args:
    folder: An empty folder, or a path that does not exist.
    work: The name of an entry that marks resumable work. A partial folder with
      this entry is never removed, and the next call continues with it.

  Raises:
    errors.InputError: If the folder is not free, cannot be written, or another
      process is writing it.
  """
  folder = pathlib.Path(folder).resolve()
  check_is_free(folder)
  in_use = (
    f'Another process is writing {folder}; wait for its end or choose another '
    'folder.'
  )
  with contextlib.ExitStack() as stack:
    try:
      stack.enter_context(
        locks.hold(folder.with_name(f'{folder.name}.lock'), in_use=in_use)
      )
    except OSError as error:
      raise files.unwritable_error(folder, error) from error
    # Checked again, because another process may have finished meanwhile.
    check_is_free(folder)
    partial = simulation.make_folder(folder.with_name(f'{folder.name}.partial'))
    _check_is_own(partial)
    try:
      if not _has(partial, work):
        _clear(partial)
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


def write_client(
  folder: pathlib.Path, name: str, x: np.ndarray, y: np.ndarray
) -> None:
  """Writes one client's examples, as `NpzFolderClientData` reads them.

  Args:
    folder: The folder that `new_folder` yields.
    name: The client's id.
    x: The features, [n, ...].
    y: The labels, [n].
  """
  with open(folder / f'{name}.npz', 'xb') as file:
    np.savez(file, x=x, y=y)
    file.flush()
    os.fsync(file.fileno())


def _has(folder: pathlib.Path, work: str | None) -> bool:
  return work is not None and (folder / work).exists()


def _check_is_own(folder: pathlib.Path) -> None:
  """Refuses a folder of another user, who could read the files in it."""
  status = os.lstat(folder)
  if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
    raise errors.InputError(
      f'{folder} must be a folder of your own or not exist, got a link or the '
      'folder of another user.'
    )


def _clear(folder: pathlib.Path) -> None:
  for entry in list(folder.iterdir()):
    if entry.is_dir() and not entry.is_symlink():
      shutil.rmtree(entry)
    else:
      entry.unlink()
