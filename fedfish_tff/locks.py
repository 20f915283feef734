# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Lock files, which the kernel frees when a process ends for any reason."""

from collections.abc import Iterator
import contextlib
import fcntl
import os
import pathlib

from fedfish_tff import errors

_WITHOUT_LOCKS = 'FEDFISH_TFF_WITHOUT_LOCKS'


@contextlib.contextmanager
def hold(
  path: str | os.PathLike[str], *, in_use: str | None = None
) -> Iterator[None]:
  """Holds a lock that no other process can hold while the body runs.

  If another process holds it, the file is no lock, or locks do not work there,
  `errors.InputError` is raised.

  Args:
    path: The lock file, which is created with its folder and removed at the
      end. A file with content is somebody's own and is refused.
    in_use: The message of the error if another process holds the lock; None to
      wait for that process.

  Raises:
    OSError: If the file cannot be created.
  """
  path = pathlib.Path(path)
  while (descriptor := _lock(path, in_use)) is None:
    pass
  try:
    yield
  finally:
    # Waiting processes see that the file was removed, and create another.
    with contextlib.suppress(OSError):
      path.unlink(missing_ok=True)
    os.close(descriptor)


def _lock(path: pathlib.Path, in_use: str | None) -> int | None:
  """Returns a locked file; None if its holder has removed it meanwhile."""
  path.parent.mkdir(parents=True, exist_ok=True)
  # NFS locks writable files but not folders.
  descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
  try:
    if os.fstat(descriptor).st_size:
      raise errors.InputError(
        f'{path} must be empty or not exist, as the lock of a process, got a '
        'file with content; move it elsewhere.'
      )
    try:
      fcntl.flock(descriptor, fcntl.LOCK_EX | (fcntl.LOCK_NB if in_use else 0))
    except BlockingIOError as error:
      raise errors.InputError(in_use) from error
    except OSError as error:
      _refuse(path, error.strerror)
    if _is_alone(path, descriptor):
      return descriptor
  except BaseException:
    os.close(descriptor)
    raise
  os.close(descriptor)
  return None


def _is_alone(path: pathlib.Path, descriptor: int) -> bool:
  """Returns whether a path is still the locked file; checks that locks work."""
  try:
    other = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
  except FileNotFoundError:
    return False
  try:
    if not os.path.samestat(os.fstat(descriptor), os.fstat(other)):
      return False
    with contextlib.suppress(OSError):
      fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
      _refuse(path, 'two can hold the same one')
    return True
  finally:
    os.close(other)


def are_dispensable() -> bool:
  """Returns whether the user vouches that each folder has one writer."""
  return os.environ.get(_WITHOUT_LOCKS) == '1'


def _refuse(path: pathlib.Path, reason: str) -> None:
  if not are_dispensable():
    raise errors.InputError(
      f'Locks do not work in {path.parent} ({reason}), so two processes could '
      "write there and spoil each other's files; choose a folder on another "
      f'file system, or set {_WITHOUT_LOCKS}=1 in the environment if no other '
      'process writes there.'
    )
