# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Lines and rows of files, wherever Apache Beam can read them.

Files are read as far as they can be: all lines before the place at which a
packed file breaks, and all rows of a Parquet file that are not on a damaged
page or behind it in the same row group.
"""

import bz2
import collections
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import os
import posixpath
from typing import Any
from typing import BinaryIO
import zlib

from fedfish_tff import errors
from fedfish_tff import regular_files

from apache_beam.io import filesystem
from apache_beam.io import filesystems
import pyarrow as pa
from pyarrow import parquet
import zstandard

# What is read at a time.
_CHUNK_BYTES = 2**16
# What is unpacked at a time: a thousand bytes of zeros may be megabytes.
_PIECE_BYTES = 2**10
# Plain text is divided among workers in ranges of this size.
_RANGE_BYTES = 2**26
# A longer line is no text, and would not fit into memory some day.
_MOST_LINE_BYTES = 2**28
# What is made of a Parquet file at a time.
_BATCH_ROWS = 256
_BATCH_BYTES = 2**22
_TEXT_SUFFIXES = ('.json', '.jsonl', '.ndjson')
_PARQUET_SUFFIX = '.parquet'


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Packing:
  """How a file of lines is packed.

  Attributes:
    name: Its name in kinds of damage.
    unpacker: Makes what unpacks one of the members that stand one after the
      other.
    error: What that raises.
    limit: How many bytes it is asked for at a time, if it keeps the others.
  """

  name: str
  unpacker: Callable[[], Any]
  error: type[Exception]
  limit: tuple[int, ...] = ()


_PACKINGS = {
  '.gz': _Packing(
    name='gzip',
    unpacker=lambda: zlib.decompressobj(wbits=31),
    error=zlib.error,
  ),
  # A thousand bytes may be a gigabyte.
  '.bz2': _Packing(
    name='bz2',
    unpacker=bz2.BZ2Decompressor,
    error=OSError,
    limit=(2**20,),
  ),
  '.zst': _Packing(
    name='zst',
    # The largest, of zstd --long=31.
    unpacker=lambda: zstandard.ZstdDecompressor(
      max_window_size=2**31
    ).decompressobj(),
    error=zstandard.ZstdError,
  ),
}

Progress = Callable[[int], None]


class DamagedFileError(Exception):
  """A file that ends or breaks before its end.

  Attributes:
    kind: What is wrong, such as 'truncated_gzip'.
    rest: What comes after the last end of a line.
  """

  def __init__(self, kind: str) -> None:
    super().__init__(kind)
    self.kind = kind
    self.rest = b''


@dataclasses.dataclass(frozen=True)
class Row:
  """A row of a Parquet file.

  Attributes:
    columns: Values of many rows by name.
    index: The place of this one among them.
  """

  columns: Mapping[str, pa.Array]
  index: int

  def get(self, name: str) -> Any:
    """Decodes a value: None where there is none, texts as bytes.

    It is not certain that texts are UTF-8, nor that Python has such a value: a
    date in the year 10000 raises an error, an unknown time zone another one.

    Args:
      name: The column's.
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


@dataclasses.dataclass(frozen=True)
class LostRows:
  """Rows in place of which a file is damaged.

  Attributes:
    first: The number of the first.
    count: How many they are.
  """

  first: int
  count: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class FileRange:
  """A file, or a part of a long one of plain text.

  Attributes:
    path: The file.
    start: The first byte. A line belongs to the range in which it begins.
    stop: The byte after the last.
    size: The bytes of the whole file.
    modified: When it was last changed, in seconds since 1970.
  """

  path: str
  start: int
  stop: int
  size: int
  modified: float

  @property
  def name(self) -> str:
    """The range as messages call it."""
    return self.path + (f' from byte {self.start:,}' if self.start else '')


def find_ranges(pattern: str) -> list[FileRange]:
  """Returns what to read, in the order of the files' names.

  Args:
    pattern: A file, or a path with * and ?, local or of a file system that Beam
      knows.

  Raises:
    errors.InputError: If it cannot be looked up, or matches no file, or one of
      a kind that cannot be read.
  """
  if '://' in pattern:
    files = _find_remote_files(pattern)
  else:
    files = [
      (path, os.path.getsize(path), os.path.getmtime(path))
      for path in regular_files.find_files(pattern)
    ]
  if not files:
    raise errors.InputError(
      f'There is no file {pattern}; a path was expected, with * for many.'
    )
  ranges = []
  for path, size, modified in files:
    if os.path.exists(path) and not os.path.isfile(path):
      raise errors.InputError(f'{path} is no file; one was expected.')
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


def _find_remote_files(pattern: str) -> list[tuple[str, int, float]]:
  """Returns the path, the size and the time of the last change of files."""
  try:
    (match,) = filesystems.FileSystems.match([pattern])
  # Each file system raises errors of its own, also for a missing package.
  except Exception as error:
    reason = ' '.join(str(error).split())
    raise errors.InputError(
      f'The files {pattern} cannot be listed: {reason.rstrip(".")}.'
    ) from error
  return sorted(
    (m.path, m.size_in_bytes, m.last_updated_in_seconds)
    for m in match.metadata_list
  )


def is_text(path: str) -> bool:
  """Whether the file is one of lines."""
  return _unpacked_name(path).endswith(_TEXT_SUFFIXES)


def _unpacked_name(path: str) -> str:
  stem, suffix = posixpath.splitext(path)
  return stem if suffix in _PACKINGS else path


def estimate_text_bytes(ranges: Sequence[FileRange]) -> int:
  """Returns about how many bytes the ranges hold once unpacked."""
  return sum(
    (item.stop - item.start) * (1 if item.path.endswith(_TEXT_SUFFIXES) else 3)
    for item in ranges
  )


def read_lines(
  file_range: FileRange, progress: Progress
) -> Iterator[tuple[int, bytes | None]]:
  """Yields the number of each line in the range, from 1, and its bytes.

  Args:
    file_range: Of `find_ranges`.
    progress: Is told how many bytes of the file have been read since.

  Yields:
    The lines that are not empty, without their ends; None for a line that is
    longer than 256 MiB.

  Raises:
    DamagedFileError: After the last whole line, if the file is damaged.
    errors.InputError: If the file cannot be read.
  """
  packing = _PACKINGS.get(posixpath.splitext(file_range.path)[1])
  with _opened(file_range.path) as file:
    if packing is not None:
      lines = _split_lines(_unpack(file, packing, progress))
    else:
      # From the byte before, to see whether a line begins with the first.
      before = min(file_range.start, 1)
      file.seek(file_range.start - before)
      length = file_range.stop - file_range.start + before
      lines = _lines_of_range(
        _split_lines(
          _read_chunks(file, progress), longest_first=length if before else None
        ),
        skip_first=bool(before),
        length=length,
      )
    for number, (_, line) in enumerate(lines, start=1):
      if number == 1 and line is not None and not file_range.start:
        line = line.removeprefix(b'\xef\xbb\xbf')
      if line is None or line.strip():
        yield number, line


def read_rows(
  file_range: FileRange, columns: Sequence[str], progress: Progress
) -> Iterator[tuple[int, Row | LostRows]]:
  """Yields the number of each row of a Parquet file, from 1, and the row.

  Args:
    file_range: Of `find_ranges`.
    columns: The names of the columns to read, as far as they are there.
    progress: Is told how many bytes of the file have been read, about.

  Yields:
    The rows, perhaps with columns that were not asked for. In place of the rows
    of a row group from a damaged page on, the number of the last, and which
    they are.

  Raises:
    DamagedFileError: If nothing of the file can be read.
    errors.InputError: If the file cannot be read.
  """
  with _opened(file_range.path) as file:
    try:
      table = parquet.ParquetFile(
        file, buffer_size=_CHUNK_BYTES, page_checksum_verification=True
      )
      names = table.schema_arrow.names
    # Arrow raises errors of its own, and Python's where a name is not UTF-8.
    except Exception as error:
      _raise_system_error(error)
      raise DamagedFileError('damaged_parquet') from error
    # Of no column, Arrow would return no rows.
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
        yield stop, LostRows(number + 1, stop - number)
        number = stop
        tell()


def _read_group(
  table: parquet.ParquetFile, group: int, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
  """Yields the rows of a row group, those before a damaged page."""
  metadata = table.metadata.row_group(group)
  row_bytes = metadata.total_byte_size // max(metadata.num_rows, 1)
  usual = min(_BATCH_ROWS, _BATCH_BYTES // max(row_bytes, 1))
  done = 0
  # The second time as far as the damage, one by one: a batch is whole or lost.
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
  """Raises an error of the system, after which the file may be whole."""
  if getattr(error, 'errno', None) is not None:
    raise error


@contextlib.contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
  try:
    with filesystems.FileSystems.open(
      path,
      compression_type=filesystem.CompressionTypes.UNCOMPRESSED,
    ) as file:
      yield file
  except (OSError, filesystem.BeamIOError) as error:
    reason = getattr(error, 'strerror', None) or str(error)
    raise errors.InputError(f'{path} cannot be read: {reason}.') from error


def _read_chunks(file: BinaryIO, progress: Progress) -> Iterator[bytes]:
  while chunk := file.read(_CHUNK_BYTES):
    yield chunk
    progress(len(chunk))


def _unpack(
  file: BinaryIO, packing: _Packing, progress: Progress
) -> Iterator[bytes]:
  """Yields the content of a packed file of any number of members."""
  unpacker = _Unpacker(packing)
  done = given = 0
  try:
    for chunk in _read_chunks(file, progress):
      for piece in _pieces(chunk, _PIECE_BYTES):
        given = 0
        for data in unpacker.unpack(piece):
          yield data
          given += len(data)
        done += len(piece)
  except DamagedFileError:
    # What the piece has before its damage is lost with it: once more, and there
    # byte by byte.
    file.seek(0)
    unpacker = _Unpacker(packing)
    while done:
      chunk = file.read(min(_CHUNK_BYTES, done))
      if not chunk:
        raise  # It has become shorter.
      for piece in _pieces(chunk, _PIECE_BYTES):
        collections.deque(unpacker.unpack(piece), maxlen=0)
      done -= len(chunk)
    for piece in _pieces(file.read(_PIECE_BYTES), 1):
      for data in unpacker.unpack(piece):
        yield data[given:]
        given = max(0, given - len(data))
    raise
  if not unpacker.is_at_end:
    raise DamagedFileError(f'truncated_{packing.name}')


def _pieces(data: bytes, size: int) -> Iterator[bytes]:
  return (data[i : i + size] for i in range(0, len(data), size))


class _Unpacker:
  """Unpacks members that stand one after the other."""

  def __init__(self, packing: _Packing) -> None:
    self._packing = packing
    self._member = packing.unpacker()

  @property
  def is_at_end(self) -> bool:
    """Whether the last member is whole."""
    return self._member.eof

  def unpack(self, piece: bytes) -> Iterator[bytes]:
    """Yields what a piece of the file holds.

    Args:
      piece: What follows in the file.

    Raises:
      DamagedFileError: If it cannot be unpacked.
    """
    limit = self._packing.limit
    while piece:
      if self._member.eof:
        piece = piece.lstrip(b'\0')  # Padding.
        if not piece:
          break
        self._member = self._packing.unpacker()
      try:
        yield self._member.decompress(piece, *limit)
        while limit and not (self._member.eof or self._member.needs_input):
          yield self._member.decompress(b'', *limit)
      except self._packing.error as error:
        raise DamagedFileError(f'damaged_{self._packing.name}') from error
      piece = self._member.unused_data if self._member.eof else b''


def _split_lines(
  chunks: Iterator[bytes], *, longest_first: int | None = None
) -> Iterator[tuple[int, bytes | None]]:
  """Yields where each line begins, and the line; None for one too long.

  Args:
    chunks: What is read.
    longest_first: There is nothing to yield if the first line is as long.
  """
  start = 0
  pieces, length = [], 0
  try:
    for chunk in chunks:
      *ends, rest = chunk.split(b'\n')
      for end in ends:
        length += len(end)
        pieces.append(end)
        yield start, _join(pieces) if length <= _MOST_LINE_BYTES else None
        start += length + 1
        pieces, length = [], 0
      length += len(rest)
      if longest_first is not None and not start and length >= longest_first:
        return
      if length <= _MOST_LINE_BYTES:
        pieces.append(rest)
      else:
        pieces = []
  except DamagedFileError as error:
    error.rest = _join(pieces)
    raise
  if length:
    yield start, _join(pieces) if length <= _MOST_LINE_BYTES else None


def _join(pieces: list[bytes]) -> bytes:
  """Returns the pieces as one; the list is empty then."""
  joined = b''.join(pieces)
  pieces.clear()
  return joined


def _lines_of_range(
  lines: Iterator[tuple[int, bytes | None]], *, skip_first: bool, length: int
) -> Iterator[tuple[int, bytes | None]]:
  """Yields the lines that begin in the first `length` bytes.

  Args:
    lines: Where lines begin, and the lines.
    skip_first: Whether the first one began before.
    length: The number of bytes.
  """
  for start, line in lines:
    if start >= length:
      return
    if start or not skip_first:
      yield start, line
