# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What is written by hand is what the messages' classes write."""

from fedfish_tff.datasets.grouping import wire_format

from absl.testing import parameterized
import dataset_grouper
import tensorflow as tf


class WireFormatTest(parameterized.TestCase):
  @parameterized.parameters(0, 1, 127, 128, -1, 2**63 - 1, -(2**63))
  def test_varint(self, value):
    message = tf.train.Int64List(value=[value]).SerializeToString()
    # A header of two bytes: the field, and how long it is.
    self.assertEqual(wire_format.varint(value), message[2:])

  # Where lengths, with those around them, get another byte.
  @parameterized.parameters(
    ([],), ([0],), (range(110, 130),), ([2**14 - 10 + i for i in range(12)],)
  )
  def test_record(self, sizes):
    examples = [bytes([i % 256]) * size for i, size in enumerate(sizes)]
    content = b''.join(
      wire_format.example_header(len(example)) + example for example in examples
    )
    self.assertEqual(
      wire_format.record_header(len(content)) + content,
      dataset_grouper.serialization.create_sequence_example(
        examples
      ).SerializeToString(),
    )
