# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Examples on their way to their clients: files sorted by bucket.

A run holds what one worker has read until its memory was full. It is sorted by
bucket, so that what belongs to a bucket stands together in each run:

  the examples of bucket 0, 1, ..., B-1;
  B+1 integers of 8 bytes: where each of these begins, and where the last ends.
"""

import array
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import errno
import os
import pathlib
import struct
import uuid

import numpy as np

# Part, position, words, bytes of the client id and of the example.
_HEADER = struct.Struct('<IQQIQ')
_OFFSET = np.dtype('<i8')
# What Python needs for an example besides its bytes.
_ENTRY_OVERHEAD = 140
# Far below what a process may have open.
_MOST_OPEN_FILES = 256
_ROWS_AT_A_TIME = 2**12
# Where an example is.
_ROW = np.dtype(
  [
    (name, np.uint64)
    for name in (
      'client',
      'part',
      'position',
      'words',
      'num_bytes',
      'run',
      'offset',
    )
  ]
)


@dataclasses.dataclass(frozen=True, slots=True)
class SpilledExample:
  """An example with what its client's record needs to know.

  Attributes:
    client_id: The client, in UTF-8.
    order: Number of the part and position in it, by which a client's examples
      are sorted: whoever reads the parts, records are the same.
    words: Its number of words.
    serialized: Its bytes.
  """

  client_id: bytes
  order: tuple[int, int]
  words: int
  serialized: bytes


class RunWriter:
  """Collects examples up to a size, then writes them as a run."""

  def __init__(
    self, folder: str | os.PathLike[str], *, num_buckets: int, max_bytes: int
  ) -> None:
    """Prepares; files are written by `flush`.

    Args:
      folder: An existing folder.
      num_buckets: The number of buckets.
      max_bytes: How many bytes of memory examples may take.
    """
    self._folder = pathlib.Path(folder)
    self._num_buckets = num_buckets
    self._max_bytes = max_bytes
    self._entries = []
    self._num_bytes = 0

  @property
  def is_full(self) -> bool:
    """Whether it is time to flush."""
    return self._num_bytes >= self._max_bytes

  def add(self, bucket: int, example: SpilledExample) -> None:
    """Adds an example to a bucket.

    Args:
      bucket: The bucket, from 0 to `num_buckets - 1`.
      example: The example.
    """
    header = _HEADER.pack(
      *example.order,
      example.words,
      len(example.client_id),
      len(example.serialized),
    )
    # Not joined with the example, which may be large.
    start = header + example.client_id
    self._entries.append((bucket, start, example.serialized))
    self._num_bytes += len(start) + len(example.serialized) + _ENTRY_OVERHEAD

  def flush(self) -> str | None:
    """Writes what there is; it is safe on disk then.

    Returns:
      The name of the run, or None if there is nothing to write.

    Raises:
      OSError: If it cannot be written.
    """
    if not self._entries:
      return None
    # Other attempts at the same work may be under way: no name comes twice.
    name = f'{uuid.uuid4().hex}.run'
    self._entries.sort(key=lambda item: item[0])
    sizes = np.zeros(self._num_buckets + 1, _OFFSET)
    with open(self._folder / name, 'xb') as file:
      for bucket, start, serialized in self._entries:
        file.write(start)
        file.write(serialized)
        sizes[bucket + 1] += len(start) + len(serialized)
      file.write(np.cumsum(sizes).tobytes())
      file.flush()
      os.fsync(file.fileno())
    self._entries, self._num_bytes = [], 0
    return name


class Bucket:
  """The examples of a bucket in all runs: where they are, not their bytes.

  A context manager, which closes the runs.
  """

  def __init__(
    self,
    paths: Sequence[str | os.PathLike[str]],
    bucket: int,
    *,
    num_buckets: int,
  ) -> None:
    """Looks through the runs.

    Args:
      paths: The runs.
      bucket: The bucket.
      num_buckets: The number of buckets, as the runs were written with it.

    Raises:
      OSError: If a run cannot be read, or is not whole.
    """
    self._paths = paths
    self._files = {}
    self._clients = {}
    rows = array.array('Q')
    for run, path in enumerate(paths):
      self._scan(run, path, bucket, num_buckets, rows)
    self._rows = np.frombuffer(rows, _ROW)

  def __enter__(self) -> 'Bucket':
    return self

  def __exit__(self, *unused_exc_info: object) -> None:
    self._close()

  def clients(self) -> Iterator[tuple[bytes, np.ndarray]]:
    """Yields clients by id, each with rows for `read`, in the right order.

    The rows have the fields 'words' and 'num_bytes'.
    """
    ids = sorted(self._clients)
    places = np.empty(len(ids), np.int64)
    places[[self._clients[client_id] for client_id in ids]] = range(len(ids))
    place = places[self._rows['client']]
    order = np.lexsort((self._rows['position'], self._rows['part'], place))
    stops = np.cumsum(np.bincount(place, minlength=len(ids))).tolist()
    start = 0
    for client_id, stop in zip(ids, stops):
      yield client_id, self._rows[order[start:stop]]
      start = stop

  def read(self, rows: np.ndarray) -> Iterator[bytes]:
    """Yields the bytes of examples.

    Args:
      rows: Of `clients`, all or some.

    Raises:
      OSError: If a run cannot be read.
    """
    for first in range(0, len(rows), _ROWS_AT_A_TIME):
      some = rows[first : first + _ROWS_AT_A_TIME]
      for run, offset, num_bytes in some[
        ['run', 'offset', 'num_bytes']
      ].tolist():
        example = os.pread(self._open(run), num_bytes, offset)
        if len(example) < num_bytes:
          raise _damage_error(self._paths[run])
        yield example

  def _scan(
    self,
    run: int,
    path: str | os.PathLike[str],
    bucket: int,
    num_buckets: int,
    rows: array.array,
  ) -> None:
    with open(path, 'rb') as file:
      size = file.seek(0, os.SEEK_END)
      file.seek(size - (num_buckets + 1 - bucket) * _OFFSET.itemsize)
      offsets = file.read(2 * _OFFSET.itemsize)
      start, stop = np.frombuffer(offsets, _OFFSET).tolist()
      if stop > size - (num_buckets + 1) * _OFFSET.itemsize:
        raise _damage_error(path)
      file.seek(start)
      while start < stop:
        part, position, words, id_bytes, num_bytes = _HEADER.unpack(
          file.read(_HEADER.size)
        )
        client_id = file.read(id_bytes)
        start += _HEADER.size + id_bytes
        client = self._clients.setdefault(client_id, len(self._clients))
        rows.extend((client, part, position, words, num_bytes, run, start))
        start += num_bytes
        file.seek(num_bytes, os.SEEK_CUR)

  def _open(self, run: int) -> int:
    if run not in self._files:
      if len(self._files) == _MOST_OPEN_FILES:
        self._close()
      self._files[run] = os.open(self._paths[run], os.O_RDONLY)
    return self._files[run]

  def _close(self) -> None:
    for descriptor in self._files.values():
      os.close(descriptor)
    self._files.clear()


def _damage_error(path: str | os.PathLike[str]) -> OSError:
  return OSError(errno.EIO, 'The file is not whole', os.fspath(path))
