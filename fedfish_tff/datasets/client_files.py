# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Files with one record per client, and the index that is made from them.

A record is a client's examples, serialized by `dataset_grouper.serialization`.
Its context, which Dataset Grouper's reader ignores, holds the client's id and
sizes, so the index of a folder can be made again from its files.
"""

from collections.abc import Iterable
from collections.abc import Iterator
import io
import os
import types
from typing import BinaryIO

from fedfish_tff import errors
from fedfish_tff import new_files
from fedfish_tff.datasets import client_index
from fedfish_tff.datasets import record_files

from dataset_grouper import serialization
from google.protobuf import message
import numpy as np
import pyarrow as pa
import tensorflow as tf

# The size of the part of a client's examples that is in memory twice.
_CHUNK_BYTES = 2**22
_CLIENT_ID = 'client_id'
_SIZES = ('examples', 'words')
# The wire type of fields that are texts or messages.
_LENGTH_DELIMITED = 2


class ClientFile:
  """A file of clients, which appears at its path once it is complete.

  It is a context manager; the file is there after an exit without an error.
  """

  def __init__(self, path: str | os.PathLike[str]) -> None:
    """Opens a temporary file beside the path.

    Args:
      path: The path, or a URL for tf.io.gfile.

    Raises:
      OSError: If the file cannot be written.
    """
    self._path = os.fspath(path)
    # The name is unique, since other workers may write the same file.
    self._temporary = new_files.temporary_name(self._path)
    self._file = record_files.open_file(self._temporary, 'xb')

  def __enter__(self) -> 'ClientFile':
    return self

  def __exit__(
    self,
    error_type: type[BaseException] | None,
    error: BaseException | None,
    traceback: types.TracebackType | None,
  ) -> None:
    with self._file as file:
      file.flush()
      if isinstance(file, io.BufferedIOBase):  # Other files have no descriptor.
        os.fsync(file.fileno())
    if error_type is None:
      tf.io.gfile.rename(self._temporary, self._path, overwrite=True)
    else:
      tf.io.gfile.remove(self._temporary)

  def write(
    self,
    client_id: str,
    examples: Iterable[bytes],
    *,
    sizes: np.ndarray,
    words: int,
  ) -> None:
    """Writes a client with examples that need not fit into memory.

    Args:
      client_id: The id, which the record's context keeps.
      examples: The serialized examples.
      sizes: The bytes of the examples, int64 [number of examples].
      words: The number of words in all examples.
    """
    context = tf.train.Features()
    context.feature[_CLIENT_ID].bytes_list.value.append(client_id.encode())
    for name, value in zip(_SIZES, (len(sizes), words), strict=True):
      context.feature[name].int64_list.value.append(value)
    start = tf.train.SequenceExample(context=context).SerializeToString(
      deterministic=True
    )
    # A value of a BytesList, in a Feature, in a FeatureList.
    list_bytes = sizes
    for _ in range(3):
      list_bytes = _field_sizes(list_bytes)
    list_bytes = int(list_bytes.sum())
    # An entry of the map, in the lists, in the record.
    name = serialization.BYTES_FEATURE_NAME.encode()
    lists = _header(1, len(name)) + name + _header(2, list_bytes)
    for number in (1, 2):
      lists = _header(number, len(lists) + list_bytes) + lists
    start += lists
    record_files.write_record(
      self._file, _pieces(start, examples), len(start) + list_bytes
    )


def _pieces(start: bytes, examples: Iterable[bytes]) -> Iterator[bytes]:
  """Yields the pieces of a record: lists of features can be concatenated."""
  yield start
  chunk, num_bytes = [], 0
  for example in examples:
    chunk.append(example)
    num_bytes += len(example)
    if num_bytes >= _CHUNK_BYTES:
      yield _feature_list(chunk)
      chunk, num_bytes = [], 0
  yield _feature_list(chunk)


def _feature_list(examples: list[bytes]) -> bytes:
  sequence = serialization.create_sequence_example(examples)
  lists = sequence.feature_lists.feature_list
  return lists[serialization.BYTES_FEATURE_NAME].SerializeToString()


def read_index(
  path: str | os.PathLike[str], split: str, shard: int
) -> pa.Table:
  """Returns the index of one file, from the contexts of its records.

  Args:
    path: A file of clients.
    split: The split's name, for the index.
    shard: The file's number in the split.
  """
  rows = {name: [] for name in client_index.INDEX_SCHEMA.names}
  for offset, num_bytes, file in record_files.scan_records(path):
    try:
      context = tf.train.Features.FromString(_read_field(file))
      (client_id,) = context.feature[_CLIENT_ID].bytes_list.value
      values = [context.feature[name].int64_list.value[0] for name in _SIZES]
      values = (client_id.decode(), split, shard, offset, num_bytes, *values)
    except (message.DecodeError, ValueError, IndexError) as error:
      raise errors.InputError(
        f'The record at byte {offset} of {path} must have the id and the sizes '
        f'of its client in its context, got {error}.'
      ) from error
    for name, value in zip(rows, values, strict=True):
      rows[name].append(value)
  return pa.table(rows, schema=client_index.INDEX_SCHEMA)


# A record is written in pieces, since messages copy their values several times:
# https://protobuf.dev/programming-guides/encoding.


def _header(number: int, size: int) -> bytes:
  """Returns the bytes before a field's content: its number and its size."""
  encoded = bytearray([number << 3 | _LENGTH_DELIMITED])
  while size > 0x7F:
    encoded.append(size & 0x7F | 0x80)
    size >>= 7
  encoded.append(size)
  return bytes(encoded)


def _field_sizes(sizes: np.ndarray) -> np.ndarray:
  """Returns the bytes of fields with contents of these sizes, int64 [n]."""
  limits = 2 ** (7 * np.arange(1, 9, dtype=np.int64))
  return sizes + 2 + np.searchsorted(limits, sizes, side='right')


def _read_field(file: BinaryIO) -> bytes:
  """Reads the content of the field that starts at a file's position."""
  file.read(1)
  size = shift = 0
  while byte := file.read(1):
    size |= (byte[0] & 0x7F) << shift
    shift += 7
    if byte[0] < 0x80:
      return file.read(size)
  raise ValueError('no field')
