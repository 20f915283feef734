# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reading of users' files, which are checked and refused with one sentence.

A user's file may be a pipe, which would block, an endless device, or hold
anything. What cannot be read, is too large or has another form raises
`errors.InputError`. A missing file raises `MissingFileError`, which is a kind
of it.
"""

from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import csv
import errno
import glob
import hashlib
import io
import json
import math
import os
import stat
from typing import Any

from fedfish_tff import errors

# The form of a JSON value: one of the types below; the integer or text that it
# must equal; a tuple of alternative forms; `[form]` for a list of such values;
# or a dict for an object, with the form of each member by its name, and that of
# all other members by `...` (any form by default). A missing member counts as
# null.
Form = Any

_TYPES = {
  str: 'a string',
  int: 'an integer',
  float: 'a number',
  bool: 'true or false',
  dict: 'an object',
  list: 'a list',
  None: 'null',
}
# The reason not to change a file in place.
OTHER_NAME = (
  'it has another name (a hard link), whose content would change, too'
)
_MOST_BYTES = 2**28
# How much larger than a file of more bytes its content may be.
_MOST_TIMES = 64
_PIECE_BYTES = 2**20
_PATTERN_CHARACTERS = frozenset('*?[\\')
_MOST_LEVELS = 64
_INTEGER_BITS = 63


class MissingFileError(errors.InputError):
  """A missing file."""


def opener(path: str | os.PathLike[str], flags: int) -> int:
  """Opens only regular files: `open(path, 'rb', opener=opener)`.

  Raises:
    OSError: If it cannot be opened, or is a pipe, a device or a socket.
  """
  # O_NONBLOCK: opening a pipe does not wait for a writer.
  descriptor = os.open(path, flags | os.O_NONBLOCK, 0o666)
  mode = os.fstat(descriptor).st_mode
  # `open` itself reports folders.
  if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
    os.close(descriptor)
    raise OSError(errno.EINVAL, 'Not a regular file', os.fspath(path))
  return descriptor


def own_opener(path: str | os.PathLike[str], flags: int) -> int:
  """Opens files to change them in place: `open(path, 'ab', opener=own_opener)`.

  Raises:
    OSError: If it cannot be opened, is a link or no regular file, or has
      another name, whose content would change, too.
  """
  descriptor = opener(path, flags | os.O_NOFOLLOW)
  if os.fstat(descriptor).st_nlink > 1:
    os.close(descriptor)
    raise OSError(errno.EMLINK, OTHER_NAME, os.fspath(path))
  return descriptor


def read_bytes(path: str | os.PathLike[str]) -> bytes:
  """Returns the content of a regular file of at most 256 MiB."""
  return b''.join(_read_pieces(path, _MOST_BYTES))


def most_content_bytes(size: int) -> int:
  """Returns the bytes that a file of that size may have once it is expanded.

  A small file may promise any size: one of zeros a thousand times its own when
  it is compressed, and an HDF5 file values that were never written.
  """
  return max(_MOST_BYTES, _MOST_TIMES * size)


def digest(
  path: str | os.PathLike[str], *, most_bytes: float = _MOST_BYTES
) -> str:
  """Returns the SHA-256 of a regular file, in hexadecimal.

  Args:
    path: A file of at most `most_bytes`.
    most_bytes: The size up to which it is read, as by `read_bytes`.
  """
  found = hashlib.sha256()
  for piece in _read_pieces(path, most_bytes):
    found.update(piece)
  return found.hexdigest()


def read_json(path: str | os.PathLike[str], form: Form) -> Any:
  """Returns the value in a JSON file.

  Args:
    path: The file. Numbers that are not finite, integers of more than 64 bits,
      members of one name and values nested more than 64 deep are refused,
      whatever the form.
    form: The form that the value must have.
  """
  content = read_bytes(path)
  try:
    return parse_json(content, form)
  except ValueError as error:
    raise errors.InputError(
      f'{os.fspath(path)} cannot be used: {error}.'
    ) from error


def parse_json(content: str | bytes, form: Form) -> Any:
  """Returns the value of a JSON text, with the checks of `read_json`.

  Raises:
    ValueError: If the text is no JSON or has another form.
  """
  try:
    value = json.loads(content, object_pairs_hook=_to_object)
    _check_values(value)
  except (ValueError, RecursionError) as error:
    raise ValueError(f'it is not valid JSON ({error})') from error
  misfit = _find_misfit(value, form, '')
  if misfit:
    raise ValueError(misfit)
  return value


def _to_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
  found = dict(pairs)
  if len(found) < len(pairs):
    names = [name for name, _ in pairs]
    twice = next(name for name in names if names.count(name) > 1)
    raise ValueError(f'an object has the member {twice!r:.80} twice')
  return found


def read_csv(
  path: str | os.PathLike[str], columns: Sequence[str]
) -> list[tuple[int, dict[str, str]]]:
  """Returns the rows of a CSV file.

  Args:
    path: The file; empty lines are left out.
    columns: The columns that it must have, each once; it may have more.

  Returns:
    For each row, the number of its last line, and its cells by column.
  """
  return parse_csv(read_bytes(path), columns, path=path)


def parse_csv(
  content: bytes, columns: Sequence[str], *, path: str | os.PathLike[str]
) -> list[tuple[int, dict[str, str]]]:
  """Returns the rows of a CSV text, as `read_csv` does.

  Args:
    content: The text, in UTF-8.
    columns: The columns that it must have.
    path: The file of the text, for errors.
  """
  try:
    reader = csv.reader(io.StringIO(content.decode('utf-8-sig'), newline=''))
    head, *rows = [(reader.line_num, row) for row in reader if row] or [(0, [])]
  except (UnicodeDecodeError, csv.Error) as error:
    raise errors.InputError(
      f'{os.fspath(path)} is no CSV file: {error}.'
    ) from error
  names = head[1]
  missing = [name for name in columns if names.count(name) != 1]
  if missing:
    raise errors.InputError(
      f'{os.fspath(path)} must begin with the columns {",".join(columns)}, '
      f'each once, got {",".join(names)[:80]!r}.'
    )
  for number, cells in rows:
    if len(cells) != len(names):
      raise errors.InputError(
        f'Line {number} of {os.fspath(path)} is damaged: it must have '
        f'{len(names)} cells, got {",".join(cells)[:80]!r}.'
      )
  return [(number, dict(zip(names, cells))) for number, cells in rows]


@contextlib.contextmanager
def plain_folder(path: str | os.PathLike[str]) -> Iterator[str]:
  """Yields a path to a folder that TensorFlow does not take for a pattern.

  Args:
    path: The folder. Its path may contain *, ?, [ and backslashes.

  Yields:
    A path that is valid in this process until the end of the block.

  Raises:
    OSError: If there is no such folder.
  """
  if not _PATTERN_CHARACTERS & set(os.fspath(path)):
    yield os.fspath(path)
    return
  descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
  try:
    yield f'/proc/self/fd/{descriptor}'
  finally:
    os.close(descriptor)


def find_files(pattern: str) -> list[str]:
  """Returns the file of a path, or the files that match it as a pattern.

  Args:
    pattern: A path or pattern. *, ?, [] and ** are wildcards below the longest
      part of it that is a folder.

  Returns:
    The paths, sorted.
  """
  if os.path.exists(pattern):
    return [pattern]
  folder = os.path.dirname(pattern)
  while folder and not os.path.isdir(folder):
    folder = os.path.dirname(folder)
  found = glob.glob(
    os.path.relpath(pattern, folder or os.curdir),
    root_dir=folder or None,
    recursive=True,
    include_hidden=True,
  )
  paths = (os.path.join(folder, name) for name in found)
  return sorted(filter(os.path.isfile, paths))


def _read_pieces(
  path: str | os.PathLike[str], most_bytes: float
) -> Iterator[bytes]:
  """Yields the content of a file of at most `most_bytes`, piece by piece."""
  try:
    with open(path, 'rb', opener=opener) as file:
      # Files of the kernel have a size of 0, and a file may grow.
      size = os.fstat(file.fileno()).st_size
      length = 0
      while (
        max(size, length) <= most_bytes
        and (piece := file.read(_PIECE_BYTES)) != b''
      ):
        if piece is None:  # A file of the kernel that would block.
          raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        length += len(piece)
        yield piece
  except (OSError, ValueError) as error:  # A name with a null character.
    is_missing = isinstance(error, (FileNotFoundError, NotADirectoryError))
    kind = MissingFileError if is_missing else errors.InputError
    reason = getattr(error, 'strerror', None) or str(error)
    raise kind(f'Cannot read {os.fspath(path)}: {reason}.') from error
  if max(size, length) > most_bytes:
    raise errors.InputError(
      f'{os.fspath(path)} must have at most {most_bytes:,} bytes, got '
      f'{max(size, length):,}.'
    )


def _check_values(value: Any) -> None:
  """Raises ValueError for valid JSON that is refused in every file."""
  level = [value]
  for _ in range(_MOST_LEVELS):
    following = []
    for item in level:
      if isinstance(item, dict):
        following += [*item, *item.values()]
      elif isinstance(item, list):
        following += item
      elif isinstance(item, str):
        item.encode()  # Half of a surrogate pair is no text.
      elif isinstance(item, float) and not math.isfinite(item):
        raise ValueError(f'{item} is not finite')
      elif isinstance(item, int) and item.bit_length() > _INTEGER_BITS:
        raise ValueError('an integer has more than 64 bits')
    if not following:
      return
    level = following
  raise ValueError(f'it is nested more than {_MOST_LEVELS} deep')


def _find_misfit(value: Any, form: Form, name: str) -> str | None:
  """Returns a message on a part of a value that does not fit; else None."""
  if isinstance(form, tuple):
    found = [_find_misfit(value, one, name) for one in form]
    return None if None in found else found[0]
  if isinstance(form, (int, str)):
    return (
      None if value == form else f'{name} must be {form!r}, got {value!r:.80}'
    )
  kind = type(form) if isinstance(form, (dict, list)) else form
  if not _is_a(value, kind):
    return f'{name or "it"} must be {_TYPES[kind]}, got {value!r:.80}'
  if kind is list and isinstance(form, list):
    members = [(f'a value of {name}', item, form[0]) for item in value]
  elif kind is dict and isinstance(form, dict):
    others = form.get(..., object)
    members = [
      (f'{name}.{key}' if name else key, value.get(key), form.get(key, others))
      for key in {**form, **value}
      if key is not ...
    ]
  else:
    return None
  found = (_find_misfit(item, inner, at) for at, item, inner in members)
  return next(filter(None, found), None)


def _is_a(value: Any, kind: Any) -> bool:
  if kind is object:
    return True
  if kind is None or value is None:
    return value is kind
  if isinstance(value, bool):
    return kind is bool
  return isinstance(value, (int, float) if kind is float else kind)
