# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Compares what is written by hand with what the messages' classes write."""

import io

from fedfish_tff.datasets import wire_format

from absl.testing import parameterized
import numpy as np
import tensorflow as tf


class WireFormatTest(parameterized.TestCase):
  @parameterized.parameters(0, 1, 127, 128, -1, 2**63 - 1, -(2**63))
  def test_varint(self, value):
    message = tf.train.Int64List(value=[value]).SerializeToString()
    # A header of two bytes: the field, and how long it is.
    self.assertEqual(wire_format.varint(value), message[2:])

  # Where lengths get another byte.
  @parameterized.parameters(0, 1, 127, 128, 2**14 - 1, 2**14, 2**21, 2**28)
  def test_field(self, size):
    pieces = [b'a' * (size // 2), b'b' * (size - size // 2)]
    message = tf.train.BytesList(value=[b''.join(pieces)]).SerializeToString()
    self.assertEqual(b''.join(wire_format.field(1, pieces)), message)
    (num_bytes,) = wire_format.field_sizes(np.array([size]))
    self.assertLen(message, num_bytes)
    self.assertEqual(
      wire_format.read_field(io.BytesIO(message + b'more')), b''.join(pieces)
    )

  @parameterized.parameters(b'', b'\x0a', b'\x0a\x80')
  def test_no_field(self, content):
    with self.assertRaisesRegex(ValueError, 'no field'):
      wire_format.read_field(io.BytesIO(content))
