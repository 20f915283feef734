# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A client's state as one file, and the name of a client's folder.

A file is an `.npz` archive, whose parts have checksums, of arrays only: reading
one runs no code.
"""

from collections.abc import Iterator
import contextlib
import hashlib
import io
import os
import pathlib
import re
import string
from typing import Any

from fedfish_tff import errors
from fedfish_tff.simulation import files

import numpy as np
import tensorflow as tf

# Far below the 255 bytes of file systems.
_MAX_QUOTED = 120
_UNQUOTED = frozenset(string.ascii_lowercase + string.digits + '_-')
_QUOTED_PREFIX = 'id-'
_HASHED_PREFIX = 'sha256-'


def folder_name(client_id: str) -> str:
  """Returns a name that no other client has, safe on any file system.

  Args:
    client_id: Any string; it is quoted as in URLs, upper case too, since some
      file systems ignore case, and hashed if that is long.
  """
  encoded = client_id.encode('utf-8', 'surrogatepass')
  quoted = ''.join(
    chr(byte) if chr(byte) in _UNQUOTED else f'%{byte:02x}' for byte in encoded
  )
  if len(quoted) <= _MAX_QUOTED:
    return _QUOTED_PREFIX + quoted
  return _HASHED_PREFIX + hashlib.sha256(encoded).hexdigest()


def is_folder_name(name: str) -> bool:
  """Whether `folder_name` may have made a name."""
  return name.startswith((_QUOTED_PREFIX, _HASHED_PREFIX))


def file_name(round_number: int) -> str:
  """Returns the name of the file with a client's state after a round."""
  return f'{round_number}.npz'


def list_rounds(folder: pathlib.Path) -> list[int]:
  """Returns the rounds of the files in a client's folder, in order.

  Args:
    folder: The folder; without it there are none.
  """
  try:
    names = os.listdir(folder)
  except FileNotFoundError:
    return []
  matches = (re.fullmatch(r'(\d+)\.npz', name) for name in names)
  return sorted(int(match[1]) for match in matches if match)


def remove_leftovers(folder: pathlib.Path) -> None:
  """Removes what a crash left in a client's folder: halves of files."""
  for entry in os.scandir(folder):
    if files.is_temporary(entry.path):
      os.unlink(entry.path)


def write_state(path: pathlib.Path, state: Any) -> None:
  """Writes a state; what is there before is whole, and so is what is then.

  Args:
    path: The file; its folder exists.
    state: A structure of numeric arrays.

  Raises:
    TypeError: If it holds something else than numbers.
    errors.InputError: If it cannot be written.
  """
  arrays = [np.asarray(leaf) for leaf in tf.nest.flatten(state)]
  for array in arrays:
    if array.dtype.kind not in 'biufc':
      raise TypeError(
        f'A client state must hold numbers; found an array of {array.dtype}.'
      )
  content = io.BytesIO()
  np.savez(content, *arrays)
  # Not `getvalue`, which copies a whole model.
  files.write_atomically(path, content.getbuffer())


def read_state(path: pathlib.Path, structure: Any, *, client_id: str) -> Any:
  """Returns a state that was written.

  Args:
    path: The file.
    structure: A state of the same structure, with values of any content.
    client_id: Whose state it is, for messages.

  Returns:
    The state, with NumPy arrays and scalars as leaves.

  Raises:
    errors.InputError: If the file cannot be read, is damaged, or holds other
      arrays than `structure`.
  """
  with _input_errors(path, client_id):
    with open(path, 'rb') as file, np.load(file) as archive:
      # Every entry is read to its end, where its checksum is.
      arrays = [archive[f'arr_{i}'] for i in range(len(archive.files))]
  leaves = tf.nest.flatten(structure)
  found = [_describe(array) for array in arrays]
  expected = [_describe(leaf) for leaf in leaves]
  if found != expected:
    raise errors.InputError(
      f'The state of client {client_id!r} in {path} is that of another '
      f'process: {_first_difference(found, expected)}.'
    )
  return tf.nest.pack_sequence_as(
    structure, [array[()] if not array.ndim else array for array in arrays]
  )


def _describe(leaf: Any) -> str:
  array = np.asarray(leaf)
  return f'{array.dtype.name}{list(array.shape)}'


def _first_difference(found: list[str], expected: list[str]) -> str:
  if len(found) != len(expected):
    return f'it holds {len(found)} arrays, {len(expected)} were expected'
  index = next(i for i, f in enumerate(found) if f != expected[i])
  return f'array {index} is {found[index]}, {expected[index]} was expected'


@contextlib.contextmanager
def _input_errors(path: pathlib.Path, client_id: str) -> Iterator[None]:
  """Says of which client a file cannot be read."""
  where = f'The state of client {client_id!r} in {path}'
  try:
    yield
  except OSError as error:
    raise errors.InputError(
      f'{where} cannot be read: {error.strerror or error}.'
    ) from error
  except Exception as error:
    # Of many types: it depends on what in the archive is damaged.
    raise errors.InputError(
      f'{where} is damaged ({error}); restore it, or start afresh with '
      '--overwrite.'
    ) from error
