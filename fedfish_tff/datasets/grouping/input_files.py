# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Lines and rows of files, wherever Apache Beam can read them.

Files are read as far as they can be: what comes before the end of a truncated
file is returned before the error.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import dataclasses
import os
from typing import Any
from typing import BinaryIO
import zlib

from fedfish_tff import errors

from apache_beam.io import filesystem
from apache_beam.io import filesystems
import pyarrow as pa
from pyarrow import parquet

# What is read at a time: of a damaged gzip file, not more is lost before the
# damage.
_CHUNK_BYTES = 2**16
_MOST_UNZIPPED_BYTES = 2**20
# Plain text is divided among workers in ranges of this size.
_RANGE_BYTES = 2**26
# A longer line is no text, and would not fit into memory some day.
_MOST_LINE_BYTES = 2**28
_BATCH_ROWS = 256
_TEXT_SUFFIXES = ('.json', '.jsonl', '.ndjson')
_GZIP_SUFFIXES = tuple(f'{suffix}.gz' for suffix in _TEXT_SUFFIXES)
_PARQUET_SUFFIX = '.parquet'

Progress = Callable[[int], None]


class DamagedFileError(Exception):
  """A file that ends or breaks before its end.

  Attributes:
    kind: What is wrong, such as 'truncated_gzip'.
  """

  def __init__(self, kind: str) -> None:
    super().__init__(kind)
    self.kind = kind


@dataclasses.dataclass(frozen=True, kw_only=True)
class FileRange:
  """A file, or a part of a long one of plain text.

  Attributes:
    path: The file.
    start: The first byte. A line belongs to the range in which it begins.
    stop: The byte after the last.
    size: The bytes of the whole file.
  """

  path: str
  start: int
  stop: int
  size: int

  @property
  def name(self) -> str:
    """The range as messages call it."""
    return self.path + (f' from byte {self.start:,}' if self.start else '')


def find_ranges(pattern: str) -> list[FileRange]:
  """Returns what to read, in the order of the files' names.

  Args:
    pattern: A path with * and ?, local or of a file system that Beam knows.

  Raises:
    errors.InputError: If it cannot be looked up, or matches no file, or one of
      a kind that cannot be read.
  """
  try:
    (match,) = filesystems.FileSystems.match([pattern])
  # Each file system raises errors of its own, also for a missing package.
  except Exception as error:
    reason = ' '.join(str(error).split())
    raise errors.InputError(
      f'The files {pattern} cannot be listed: {reason.rstrip(".")}.'
    ) from error
  files = sorted((m.path, m.size_in_bytes) for m in match.metadata_list)
  if not files:
    raise errors.InputError(
      f'There is no file {pattern}; a path was expected, with * for many.'
    )
  ranges = []
  for path, size in files:
    if os.path.exists(path) and not os.path.isfile(path):
      raise errors.InputError(f'{path} is no file; one was expected.')
    if not is_text(path) and not path.endswith(_PARQUET_SUFFIX):
      known = ', '.join((*_TEXT_SUFFIXES, *_GZIP_SUFFIXES, _PARQUET_SUFFIX))
      raise errors.InputError(
        f'{path} ends in none of {known}, which can be read.'
      )
    step = _RANGE_BYTES if path.endswith(_TEXT_SUFFIXES) else max(size, 1)
    ranges += [
      FileRange(path=path, start=start, stop=min(start + step, size), size=size)
      for start in range(0, max(size, 1), step)
    ]
  return ranges


def is_text(path: str) -> bool:
  """Whether the file is one of lines."""
  return path.endswith((*_TEXT_SUFFIXES, *_GZIP_SUFFIXES))


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
  with _opened(file_range.path) as file:
    if file_range.path.endswith(_GZIP_SUFFIXES):
      chunks = _unzip(_read_chunks(file, progress))
      lines = _split_lines(chunks)
    else:
      # From the byte before, to see whether a line begins with the first.
      before = min(file_range.start, 1)
      file.seek(file_range.start - before)
      lines = _lines_of_range(
        _split_lines(_read_chunks(file, progress)),
        skip_first=bool(before),
        length=file_range.stop - file_range.start + before,
      )
    for number, (_, line) in enumerate(lines, start=1):
      if number == 1 and line is not None and not file_range.start:
        line = line.removeprefix(b'\xef\xbb\xbf')
      if line is None or line.strip():
        yield number, line


def read_rows(
  file_range: FileRange, columns: Sequence[str], progress: Progress
) -> Iterator[tuple[int, dict[str, Any]]]:
  """Yields the number of each row of a Parquet file, from 1, and its values.

  Args:
    file_range: Of `find_ranges`.
    columns: The names of the columns to read, as far as they are there.
    progress: Is told how many bytes of the file have been read, about.

  Yields:
    Values by name, of columns not asked for perhaps too; texts as bytes, for it
    is not certain that they are UTF-8.

  Raises:
    DamagedFileError: If the file is damaged.
    errors.InputError: If the file cannot be read.
  """
  with _opened(file_range.path) as file:
    try:
      table = parquet.ParquetFile(file)
      names = table.schema_arrow.names
      # Of no column, Arrow would return no rows.
      known = [name for name in names if name in columns] or names[:1]
      number = 0
      for batch in table.iter_batches(_BATCH_ROWS, columns=known):
        for row in _to_rows(batch):
          number += 1
          yield number, row
        progress(file_range.size * len(batch) // table.metadata.num_rows)
    except (pa.ArrowException, OSError) as error:
      if getattr(error, 'errno', None) is not None:
        raise  # The system's: the file may be whole.
      raise DamagedFileError('damaged_parquet') from error


def _to_rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
  # Arrow does not look whether texts are UTF-8; Python refuses all of a batch.
  columns = [
    column.cast(pa.large_binary())
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    else column
    for column in batch.columns
  ]
  return pa.table(columns, names=batch.schema.names).to_pylist()


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


def _unzip(chunks: Iterator[bytes]) -> Iterator[bytes]:
  """Yields the content of a gzip file of any number of members."""
  member = zlib.decompressobj(wbits=31)
  try:
    for chunk in chunks:
      while chunk:
        if member.eof:
          chunk = chunk.lstrip(b'\0')  # Padding.
          if not chunk:
            break
          member = zlib.decompressobj(wbits=31)
        yield member.decompress(chunk, _MOST_UNZIPPED_BYTES)
        chunk = member.unused_data if member.eof else member.unconsumed_tail
    yield member.flush()
  except zlib.error as error:
    raise DamagedFileError('damaged_gzip') from error
  if not member.eof:
    raise DamagedFileError('truncated_gzip')


def _split_lines(
  chunks: Iterator[bytes],
) -> Iterator[tuple[int, bytes | None]]:
  """Yields where each line begins, and the line; None for one too long."""
  start = 0
  pieces, length = [], 0
  for chunk in chunks:
    *ends, rest = chunk.split(b'\n')
    for end in ends:
      length += len(end)
      is_short = length <= _MOST_LINE_BYTES
      yield start, b''.join((*pieces, end)) if is_short else None
      start += length + 1
      pieces, length = [], 0
    length += len(rest)
    if length <= _MOST_LINE_BYTES:
      pieces.append(rest)
    else:
      pieces = []
  if length:
    is_short = length <= _MOST_LINE_BYTES
    yield start, b''.join(pieces) if is_short else None


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
