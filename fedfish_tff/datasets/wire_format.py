# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Protocol buffers without their classes, which come with TensorFlow.

Importing that takes seconds and half a gigabyte, and its messages copy what
they are given several times, which counts where a client has a gigabyte. Wire
format: https://protobuf.dev/programming-guides/encoding.
"""

from collections.abc import Sequence
from typing import BinaryIO

import numpy as np

_LENGTH_DELIMITED = 2


def varint(value: int) -> bytes:
  """Returns an integer of -2^63 to 2^64 - 1, seven bits a byte."""
  value &= 2**64 - 1
  encoded = bytearray()
  while value > 0x7F:
    encoded.append(value & 0x7F | 0x80)
    value >>= 7
  encoded.append(value)
  return bytes(encoded)


def header(number: int, size: int) -> bytes:
  """Returns what stands before a field of bytes, text or a message.

  Args:
    number: The number of the field.
    size: The bytes of its content.
  """
  return varint(number << 3 | _LENGTH_DELIMITED) + varint(size)


def field(number: int, pieces: Sequence[bytes]) -> list[bytes]:
  """Returns a field of bytes, text or a message, in pieces: none is copied.

  Args:
    number: The number of the field.
    pieces: Its content.
  """
  return [header(number, sum(map(len, pieces))), *pieces]


def field_sizes(sizes: np.ndarray) -> np.ndarray:
  """Returns the bytes of fields numbered below 16, their headers included.

  Args:
    sizes: The bytes of their contents, int64 [n].
  """
  limits = 2 ** (7 * np.arange(1, 9, dtype=np.int64))
  return sizes + 2 + np.searchsorted(limits, sizes, side='right')


def read_field(file: BinaryIO) -> bytes:
  """Reads the field of bytes or a message that begins at a file's position.

  Args:
    file: A file of which that field is not at the end.

  Raises:
    ValueError: If there is no such field.
  """
  if not file.read(1):
    raise ValueError('no field')
  size = shift = 0
  while byte := file.read(1):
    size |= (byte[0] & 0x7F) << shift
    shift += 7
    if byte[0] < 0x80:
      return file.read(size)
  raise ValueError('no field')
