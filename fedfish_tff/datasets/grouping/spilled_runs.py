# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Examples on their way to their clients: files sorted by bucket.

A run holds what one worker has read until its memory was full. It is sorted by
bucket, so that what belongs to a bucket stands together in each run:

  the examples of bucket 0, 1, ..., B-1;
  B+1 integers of 8 bytes: where each of these begins, and where the last ends.
"""

from collections.abc import Iterable
from collections.abc import Iterator
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
    """Prepares; files are written by `add` and `flush`.

    Args:
      folder: An existing folder.
      num_buckets: The number of buckets.
      max_bytes: How many bytes of examples to hold.
    """
    self._folder = pathlib.Path(folder)
    self._num_buckets = num_buckets
    self._max_bytes = max_bytes
    self._entries = []
    self._num_bytes = 0
    self.names = []  # Of the runs written.

  def add(self, bucket: int, example: SpilledExample) -> None:
    """Adds an example to a bucket.

    Args:
      bucket: The bucket, from 0 to `num_buckets - 1`.
      example: The example.

    Raises:
      OSError: If a run cannot be written.
    """
    header = _HEADER.pack(
      *example.order,
      example.words,
      len(example.client_id),
      len(example.serialized),
    )
    entry = b''.join((header, example.client_id, example.serialized))
    self._entries.append((bucket, entry))
    self._num_bytes += len(entry)
    if self._num_bytes >= self._max_bytes:
      self.flush()

  def flush(self) -> None:
    """Writes what there is.

    Raises:
      OSError: If it cannot be written.
    """
    if not self._entries:
      return
    # Other attempts at the same work may be under way: no name comes twice.
    name = f'{uuid.uuid4().hex}.run'
    self._entries.sort(key=lambda item: item[0])
    sizes = np.zeros(self._num_buckets + 1, _OFFSET)
    with open(self._folder / name, 'wb') as file:
      for bucket, entry in self._entries:
        file.write(entry)
        sizes[bucket + 1] += len(entry)
      file.write(np.cumsum(sizes).tobytes())
    self.names.append(name)
    self._entries, self._num_bytes = [], 0


def read_bucket(
  paths: Iterable[str | os.PathLike[str]], bucket: int, *, num_buckets: int
) -> Iterator[SpilledExample]:
  """Yields the examples of a bucket, run after run.

  Args:
    paths: The runs.
    bucket: The bucket.
    num_buckets: The number of buckets, as the runs were written with it.

  Raises:
    OSError: If a run cannot be read, or is not whole.
  """
  for path in paths:
    with open(path, 'rb') as file:
      size = file.seek(0, os.SEEK_END)
      file.seek(size - (num_buckets + 1 - bucket) * _OFFSET.itemsize)
      offsets = file.read(2 * _OFFSET.itemsize)
      start, stop = np.frombuffer(offsets, _OFFSET).tolist()
      file.seek(start)
      while start < stop:
        header = file.read(_HEADER.size)
        if len(header) < _HEADER.size:
          raise OSError(errno.EIO, 'The file is not whole', os.fspath(path))
        part, position, words, id_bytes, num_bytes = _HEADER.unpack(header)
        content = file.read(id_bytes + num_bytes)
        start += _HEADER.size + len(content)
        yield SpilledExample(
          client_id=content[:id_bytes],
          order=(part, position),
          words=words,
          serialized=content[id_bytes:],
        )
