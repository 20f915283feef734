# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""TFRecord files with random access to single records.

A record is a header (the payload's length as uint64 and its checksum), the
payload and the payload's checksum; checksums are masked CRC-32C. TensorFlow
reads these files, and this module reads TensorFlow's, but TensorFlow cannot
start at an arbitrary byte.
"""

from collections.abc import Iterable
from collections.abc import Iterator
import os
import struct
from typing import BinaryIO

from fedfish_tff import errors
from fedfish_tff import regular_files

import google_crc32c

# The bytes of a record besides its payload.
RECORD_OVERHEAD = 16

_HEADER = struct.Struct('<QI')
_LENGTH = struct.Struct('<Q')
_CHECKSUM = struct.Struct('<I')
_MASK_DELTA = 0xA282EAD8


def open_file(path: str | os.PathLike[str], mode: str) -> BinaryIO:
  """Opens a file, also on other file systems known to TensorFlow.

  Args:
    path: The path, or a URL for tf.io.gfile.
    mode: The mode, 'rb', or 'xb' for a file that does not exist yet.

  Raises:
    OSError: If the file cannot be opened. For a URL, it is an error of
      TensorFlow's.
  """
  if '://' in os.fspath(path):
    # Imported late: local files do not need it.
    import tensorflow as tf  # pylint: disable=g-import-not-at-top

    return tf.io.gfile.GFile(path, mode.replace('x', 'w'))
  return open(path, mode, opener=regular_files.opener if 'r' in mode else None)


def write_record(
  file: BinaryIO, pieces: Iterable[bytes], num_bytes: int
) -> None:
  """Writes a record that need not fit into memory.

  Args:
    file: The file, at the end of the previous record.
    pieces: The record's content, piece by piece.
    num_bytes: The bytes of all pieces.
  """
  length = _LENGTH.pack(num_bytes)
  file.write(length + _CHECKSUM.pack(_masked_checksum(length)))
  checksum = 0
  for piece in pieces:
    file.write(piece)
    checksum = google_crc32c.extend(checksum, piece)
  file.write(_CHECKSUM.pack(_mask(checksum)))


def read_record(
  path: str | os.PathLike[str],
  offset: int,
  *,
  payload_bytes: int | None = None,
) -> bytes:
  """Reads the record that starts at `offset`, and nothing else of the file.

  It is safe to call from several threads.

  Args:
    path: An uncompressed TFRecord file.
    offset: The bytes from the file's start to the record's header.
    payload_bytes: The expected length of the payload, if known.

  Returns:
    The payload.
  """
  try:
    with open(path, 'rb', buffering=0, opener=regular_files.opener) as file:
      header = os.pread(file.fileno(), _HEADER.size, offset)
      length = _read_length(header, path, offset)
      if payload_bytes not in (None, length):
        raise errors.InputError(
          f'The record at byte {offset} of {path} must hold {payload_bytes} '
          f'bytes, got {length}.'
        )
      rest_bytes = length + _CHECKSUM.size
      rest = os.pread(file.fileno(), rest_bytes, offset + _HEADER.size)
  except (OSError, OverflowError) as error:
    reason = getattr(error, 'strerror', None) or str(error)
    raise errors.InputError(
      f'The record at byte {offset} of {path} cannot be read ({reason}): it '
      'must be a TFRecord file.'
    ) from error
  if len(rest) < rest_bytes:
    raise _short_error(path, offset)
  payload = rest[:length]
  (checksum,) = _CHECKSUM.unpack(rest[length:])
  if checksum != _masked_checksum(payload):
    raise _damage_error(path, offset, 'checksum of its content')
  return payload


def scan_records(
  path: str | os.PathLike[str],
) -> Iterator[tuple[int, int, BinaryIO]]:
  """Yields the position of each record of a file, reading headers only.

  Args:
    path: An uncompressed TFRecord file; it may be a URL for tf.io.gfile.

  Yields:
    The bytes from the file's start to the record's header, the bytes of its
    payload, and the file, from which the payload can be read next.
  """
  offset = 0
  try:
    with open_file(path, 'rb') as file:
      num_bytes = file.seek(0, os.SEEK_END) or file.tell()
      while offset < num_bytes:
        file.seek(offset)
        length = _read_length(file.read(_HEADER.size), path, offset)
        if offset + length + RECORD_OVERHEAD > num_bytes:
          raise _short_error(path, offset)
        yield offset, length, file
        offset += length + RECORD_OVERHEAD
  except OSError as error:
    raise errors.InputError(
      f'The file {path} must be a TFRecord file, and cannot be read '
      f'({error.strerror}).'
    ) from error


def _read_length(
  header: bytes, path: str | os.PathLike[str], offset: int
) -> int:
  """Returns the number of bytes of a record's payload, from its header."""
  if len(header) < _HEADER.size:
    raise _short_error(path, offset)
  length, checksum = _HEADER.unpack(header)
  # Checked before the length is used: a wrong one could ask for any memory.
  if checksum != _masked_checksum(header[: _LENGTH.size]):
    raise _damage_error(path, offset, 'checksum of its length')
  return length


def _masked_checksum(data: bytes) -> int:
  """Returns the CRC-32C of `data`, rotated and shifted as in TFRecords."""
  return _mask(google_crc32c.value(data))


def _mask(checksum: int) -> int:
  return ((checksum >> 15 | checksum << 17) + _MASK_DELTA) & 0xFFFFFFFF


def _short_error(
  path: str | os.PathLike[str], offset: int
) -> errors.InputError:
  return errors.InputError(
    f'The file {path} must be a complete TFRecord file, and ends before the end '
    f'of the record at byte {offset}.'
  )


def _damage_error(
  path: str | os.PathLike[str], offset: int, what: str
) -> errors.InputError:
  return errors.InputError(
    f'The record at byte {offset} of {path} is damaged: the {what} does not '
    'match. It must be an uncompressed TFRecord file, as it was written.'
  )
