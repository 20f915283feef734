# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Lines and rows of files on any file system that fsspec can read.

Damaged files are read as far as possible: the lines before the damage of a
compressed file, and all rows of a Parquet file except those from a damaged page
on in the same row group.
"""

import bz2
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import gzip
import io
import math
import os
import posixpath
from typing import Any
from typing import BinaryIO
import zlib

from fedfish_tff import errors
from fedfish_tff import regular_files
from fedfish_tff.datasets.grouping import sources

import fsspec
import pyarrow as pa
from pyarrow import parquet
import zstandard

# The size of a read.
_CHUNK_BYTES = 2**16
# The size of compressed input at a time: a thousand bytes of zeros may be
# megabytes.
_PIECE_BYTES = 2**10
# The size of the ranges of plain text that are divided among workers.
_RANGE_BYTES = 2**24
# A longer line is not text, and may not fit into memory.
_MOST_LINE_BYTES = 2**28
# The sizes of the batches in which a Parquet file is decoded.
_BATCH_ROWS = 256
_BATCH_BYTES = 2**22
_TEXT_SUFFIXES = ('.json', '.jsonl', '.ndjson')
_PARQUET_SUFFIX = '.parquet'
# For each suffix of compressed files, the name in kinds of damage, and the
# decompressor of a member; for gzip it is GzipFile. The window of zstd is the
# largest, that of zstd --long=31.
_PACKINGS = {
  '.gz': ('gzip', None),
  '.bz2': ('bz2', bz2.BZ2Decompressor),
  '.zst': (
    'zst',
    lambda: zstandard.ZstdDecompressor(max_window_size=2**31).decompressobj(),
  ),
}

Progress = Callable[[int], None]


class DamagedFileError(Exception):
  """A file that is truncated or damaged.

  Attributes:
    kind: The damage, such as 'truncated_gzip'.
    rest: The bytes after the last end of a line.
  """

  def __init__(self, kind: str, rest: bytes = b'') -> None:
    super().__init__(kind)
    self.kind = kind
    self.rest = rest


@dataclasses.dataclass(frozen=True)
class Row:
  """A row of a Parquet file.

  Attributes:
    columns: The values of many rows by name.
    index: The place of this row among them.
  """

  columns: Mapping[str, pa.Array]
  index: int

  def get(self, name: str) -> Any:
    """Decodes a value: None for a missing one, texts as bytes.

    Texts may not be UTF-8, and Python may have no such value: a date in the
    year 10000 raises an error, an unknown time zone another one.

    Args:
      name: The name of the column.
    """
    if name not in self.columns:
      return None
    value = self.columns[name][self.index]
    if isinstance(value, pa.DictionaryScalar):
      value = value.value
    if isinstance(value, pa.StringScalar):
      buffer = value.as_buffer()
      return None if buffer is None else buffer.to_pybytes()
    return value.as_py()


@dataclasses.dataclass(frozen=True, kw_only=True)
class FileRange:
  """A file, or a range of a long file of plain text.

  Attributes:
    path: The file.
    start: The first byte. A line belongs to the range in which it starts.
    stop: The byte after the last one.
    size: The size of the whole file in bytes.
    modified: A mark of the file's version, such as the time of its last change.
  """

  path: str
  start: int
  stop: int
  size: int
  modified: str

  @property
  def name(self) -> str:
    """The name of the range in messages."""
    return self.path + (f' from byte {self.start:,}' if self.start else '')


def find_ranges(pattern: str) -> list[FileRange]:
  """Returns the ranges to read, in the order of the files' names.

  Args:
    pattern: A file, or a path with * and ?, local or on a file system known to
      fsspec. It must match files, all of known kinds.
  """
  if '://' in pattern:
    files = _find_remote_files(pattern)
  else:
    files = [
      (path, os.path.getsize(path), str(os.path.getmtime(path)))
      for path in regular_files.find_files(pattern)
    ]
  if not files:
    raise errors.InputError(
      f'There is no file {pattern}; * and ? stand for many.'
    )
  ranges = []
  for path, size, modified in files:
    if os.path.exists(path) and not os.path.isfile(path):
      raise errors.InputError(f'{path} must be a file.')
    if not is_text(path) and not path.endswith(_PARQUET_SUFFIX):
      known = ', '.join((*_TEXT_SUFFIXES, _PARQUET_SUFFIX))
      raise errors.InputError(
        f'{path} ends in none of {known}, which can be read; all but '
        f'{_PARQUET_SUFFIX} also with {", ".join(_PACKINGS)} behind.'
      )
    step = _RANGE_BYTES if path.endswith(_TEXT_SUFFIXES) else max(size, 1)
    ranges += [
      FileRange(
        path=path,
        start=start,
        stop=min(start + step, size),
        size=size,
        modified=modified,
      )
      for start in range(0, max(size, 1), step)
    ]
  return ranges


def _find_remote_files(pattern: str) -> list[tuple[str, int, str]]:
  """Returns the path, the size and the version mark of each file."""
  try:
    system, path = fsspec.core.url_to_fs(pattern)
    found = system.glob(path, detail=True)
    return sorted(
      (system.unstrip_protocol(name), info['size'], fsspec.utils.tokenize(info))
      for name, info in found.items()
    )
  # Each file system raises its own errors, also for a missing package.
  except Exception as error:
    raise errors.InputError(
      f'The files {pattern} cannot be listed: {errors.first_line(error)}.'
    ) from error


def is_text(path: str) -> bool:
  """Returns whether the file consists of lines."""
  return _unpacked_name(path).endswith(_TEXT_SUFFIXES)


def _unpacked_name(path: str) -> str:
  stem, suffix = posixpath.splitext(path)
  return stem if suffix in _PACKINGS else path


def estimate_text_bytes(ranges: Sequence[FileRange]) -> int:
  """Returns the approximate number of bytes of the ranges, decompressed."""
  return sum(
    (item.stop - item.start) * (1 if item.path.endswith(_TEXT_SUFFIXES) else 3)
    for item in ranges
  )


def read_lines(
  file_range: FileRange, progress: Progress
) -> Iterator[tuple[int, bytes | None]]:
  """Yields the number of each line in the range, from 1, and its bytes.

  Args:
    file_range: A range from `find_ranges`.
    progress: A function called with the bytes of the file read since its last
      call.

  Yields:
    The lines that are not empty, without their ends; None for a line longer
    than 256 MiB.

  Raises:
    DamagedFileError: If the file is damaged, after its last whole line.
  """
  suffix = posixpath.splitext(file_range.path)[1]
  with _opened(file_range.path) as raw:
    content = file = io.BufferedReader(raw, _CHUNK_BYTES)
    unpacked, stop = None, file_range.stop
    if suffix in _PACKINGS:
      unpacked, stop = _Unpacked(file, *_PACKINGS[suffix]), math.inf
      content = io.BufferedReader(unpacked, _CHUNK_BYTES)
    elif file_range.start:
      # From the byte before, to see whether a line starts at the first byte.
      file.seek(file_range.start - 1)
      _skip_line(file, stop=stop)
    told, number = file.tell(), 0
    while file.tell() < stop:
      line = content.readline(_MOST_LINE_BYTES + 1)
      if not line or (unpacked and unpacked.damage and line[-1:] != b'\n'):
        break
      number += 1
      if len(line) > _MOST_LINE_BYTES and line[-1:] != b'\n':
        line = None
        _skip_line(content)
      elif number == 1 and not file_range.start:
        line = line.removeprefix(b'\xef\xbb\xbf')
      if line is None or line.strip():
        yield number, line and line.removesuffix(b'\n')
      progress(file.tell() - told)
      told = file.tell()
    if unpacked and unpacked.damage:
      raise DamagedFileError(unpacked.damage, line)


def _skip_line(file: io.BufferedReader, *, stop: int | None = None) -> None:
  """Reads to the end of a line, or at most to a place in the file."""
  while piece := file.readline(_CHUNK_BYTES):
    if piece[-1:] == b'\n' or (stop is not None and file.tell() >= stop):
      return


def read_rows(
  file_range: FileRange, columns: Sequence[str], progress: Progress
) -> Iterator[tuple[int, Row | sources.Skipped]]:
  """Yields the number of each row of a Parquet file, from 1, and the row.

  Args:
    file_range: A range from `find_ranges`.
    columns: The names of the columns to read; missing ones are ignored.
    progress: A function called with the approximate bytes of the file read.

  Yields:
    The rows, possibly with columns that were not asked for. Instead of the rows
    of a row group from a damaged page on, the number of the last of them and a
    `Skipped`.

  Raises:
    DamagedFileError: If no part of the file can be read.
  """
  with _opened(file_range.path) as file:
    try:
      table = parquet.ParquetFile(
        file, buffer_size=_CHUNK_BYTES, page_checksum_verification=True
      )
      names = table.schema_arrow.names
    # Arrow raises its own errors, and Python's where a name is not UTF-8.
    except Exception as error:
      _raise_system_error(error)
      raise DamagedFileError('damaged_parquet') from error
    # Without columns, Arrow would return no rows.
    known = [name for name in names if name in columns] or names[:1]
    number = told = 0

    def tell() -> None:
      nonlocal told
      done = file_range.size * number // max(table.metadata.num_rows, number, 1)
      progress(done - told)
      told = done

    for group in range(table.num_row_groups):
      stop = number + table.metadata.row_group(group).num_rows
      for batch in _read_group(table, group, known):
        columns = dict(zip(batch.schema.names, batch.columns))
        for index in range(len(batch)):
          number += 1
          yield number, Row(columns, index)
        tell()
      if number < stop:
        yield (
          stop,
          sources.Skipped(
            kind='damaged_parquet',
            where=f'{file_range.path}, rows {number + 1:,} to {stop:,}',
            count=stop - number,
          ),
        )
        number = stop
        tell()


def _read_group(
  table: parquet.ParquetFile, group: int, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
  """Yields the rows of a row group before a damaged page."""
  metadata = table.metadata.row_group(group)
  row_bytes = metadata.total_byte_size // max(metadata.num_rows, 1)
  usual = min(_BATCH_ROWS, _BATCH_BYTES // max(row_bytes, 1))
  done = 0
  # A batch is whole or lost, so the second pass reads up to the damage row by
  # row.
  for batch_rows in (max(usual, 1), 1):
    position = 0
    try:
      for batch in table.iter_batches(
        batch_rows, row_groups=[group], columns=columns
      ):
        position += len(batch)
        if position > done:
          done = position
          yield batch
      return
    except Exception as error:
      _raise_system_error(error)


def _raise_system_error(error: Exception) -> None:
  """Raises an error of the system, since the file itself may be whole."""
  if getattr(error, 'errno', None) is not None:
    raise error


@contextlib.contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
  try:
    with open(path, 'rb') if '://' not in path else fsspec.open(path) as file:
      yield file
  except OSError as error:
    reason = error.strerror or str(error)
    raise errors.InputError(f'{path} cannot be read: {reason}.') from error


class _Unpacked(io.RawIOBase):
  """The decompressed content of a file of any number of members.

  Attributes:
    damage: The damage, such as 'truncated_gzip'; None before the end.
  """

  def __init__(
    self, file: BinaryIO, name: str, unpacker: Callable[[], Any] | None
  ) -> None:
    super().__init__()
    self.damage: str | None = None
    self._name = name
    self._pieces = filter(
      None, _unpack_members(file, unpacker) if unpacker else _unpack_gzip(file)
    )
    self._piece = memoryview(b'')

  def readable(self) -> bool:
    return True

  def readinto(self, buffer: memoryview) -> int:
    try:
      if not self._piece:
        self._piece = memoryview(next(self._pieces, b''))
    except EOFError:
      self.damage = f'truncated_{self._name}'
    # Errors of the system have a number.
    except (OSError, zlib.error, zstandard.ZstdError) as error:
      _raise_system_error(error)
      self.damage = f'damaged_{self._name}'
    count = min(len(buffer), len(self._piece))
    buffer[:count] = self._piece[:count]
    self._piece = self._piece[count:]
    return count


def _unpack_gzip(file: BinaryIO) -> Iterator[bytes]:
  with gzip.GzipFile(fileobj=file) as unpacked:
    # `read` would lose the content before the damage.
    while content := unpacked.read1(_CHUNK_BYTES):
      yield content
  if not file.tell():
    raise EOFError


def _unpack_members(
  file: BinaryIO, unpacker: Callable[[], Any]
) -> Iterator[bytes]:
  """Yields the content of consecutive members.

  The libraries' own files do not serve: one takes a truncated member for a
  whole one, and the other ignores data after a damaged member.
  """
  member = None
  while piece := file.read(_PIECE_BYTES):
    while piece:
      if member is None or member.eof:
        member = unpacker()
      yield member.decompress(piece)
      piece = member.unused_data
  if member is None or not member.eof:
    raise EOFError
