# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Files that users give, which may be no files: a pipe would be waited for."""

import errno
import os
import stat


def opener(path: str | os.PathLike[str], flags: int) -> int:
  """Opens a regular file only: `open(path, 'rb', opener=opener)`.

  Args:
    path: What is to be opened.
    flags: As `open` gives them.

  Returns:
    A descriptor.

  Raises:
    OSError: If it cannot be opened, or is a pipe, a device or a socket.
  """
  # Which does not wait for who writes to a pipe.
  descriptor = os.open(path, flags | os.O_NONBLOCK, 0o666)
  mode = os.fstat(descriptor).st_mode
  # What is a folder, `open` says.
  if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
    os.close(descriptor)
    raise OSError(errno.EINVAL, 'Not a regular file', os.fspath(path))
  return descriptor


def read_bytes(path: str | os.PathLike[str]) -> bytes:
  """Returns the content of a regular file; raises OSError as `opener` does."""
  with open(path, 'rb', opener=opener) as file:
    return file.read()
