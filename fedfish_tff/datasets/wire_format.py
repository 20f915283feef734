# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Protocol buffers without their classes, which come with TensorFlow.

Importing that takes seconds and half a gigabyte, and its messages copy what
they are given several times, which counts where a client has a gigabyte. Wire
format: https://protobuf.dev/programming-guides/encoding.
"""

from collections.abc import Sequence
import functools

_LENGTH_DELIMITED = 2
# The name of the feature list in which Dataset Grouper has a client's examples.
_EXAMPLES = b'serialized_bytes'


def varint(value: int) -> bytes:
  """Returns an integer of -2^63 to 2^64 - 1, seven bits a byte."""
  value &= 2**64 - 1
  encoded = bytearray()
  while value > 0x7F:
    encoded.append(value & 0x7F | 0x80)
    value >>= 7
  encoded.append(value)
  return bytes(encoded)


def field(number: int, pieces: Sequence[bytes]) -> list[bytes]:
  """Returns a field of bytes, text or a message, in pieces: none is copied.

  Args:
    number: The number of the field.
    pieces: Its content.
  """
  return [_header(number, sum(map(len, pieces))), *pieces]


@functools.lru_cache(maxsize=2**14)
def example_header(size: int) -> bytes:
  """Returns what stands before an example of so many bytes in a record.

  The record of a client is a `tf.train.SequenceExample` as Dataset Grouper
  writes it, with one feature of one value an example.

  Args:
    size: The bytes of the example.
  """
  header = _header(1, size)  # A value of a BytesList,
  for _ in range(2):  # which is a Feature's, of a FeatureList.
    header = _header(1, size + len(header)) + header
  return header


def record_header(size: int) -> bytes:
  """Returns what stands before all examples of a record.

  Args:
    size: The bytes of the examples and of their headers.
  """
  # Of the map, which is of the lists, which are of the record.
  header = b''.join(field(1, [_EXAMPLES])) + _header(2, size)
  for number in (1, 2):
    header = _header(number, len(header) + size) + header
  return header


def _header(number: int, size: int) -> bytes:
  return varint(number << 3 | _LENGTH_DELIMITED) + varint(size)
