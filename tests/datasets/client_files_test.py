# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of files with a record a client."""

import io
import pathlib

from fedfish_tff import errors
from fedfish_tff.datasets import client_files

from absl.testing import parameterized
from dataset_grouper import serialization
import numpy as np
import tensorflow as tf


class ClientFileTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path) / 'a.tfrecord'

  def _write(self, path, clients):
    with client_files.ClientFile(path) as file:
      for client_id, (examples, words) in clients.items():
        sizes = np.array([len(example) for example in examples], np.int64)
        file.write(client_id, iter(examples), sizes=sizes, words=words)

  # Where lengths, with those around them, get another byte; and where a record
  # is made in several pieces.
  @parameterized.parameters(
    ([0],),
    (range(110, 130),),
    ([2**14 - 10 + i for i in range(12)],),
    ([2**22 + 5, 3, 2**21, 2**22],),
  )
  def test_records_are_those_of_dataset_grouper(self, sizes):
    examples = [bytes([i % 256]) * size for i, size in enumerate(sizes)]
    self._write(self.path, {'ü.org': (examples, 7)})
    (record,) = tf.data.TFRecordDataset(str(self.path)).as_numpy_iterator()
    expected = serialization.create_sequence_example(examples)
    feature = expected.context.feature
    feature['client_id'].bytes_list.value.append('ü.org'.encode())
    feature['examples'].int64_list.value.append(len(examples))
    feature['words'].int64_list.value.append(7)
    self.assertEqual(record, expected.SerializeToString(deterministic=True))

  @parameterized.parameters('', 'ram://client_files_test/a.tfrecord')
  def test_an_index_is_made_from_the_file(self, path):
    path = path or self.path
    clients = {'b': ([b'x', b'yy'], 3), 'a' * 9999: ([b'z' * 300], 2**40)}
    self._write(path, clients)
    rows = client_files.read_index(path, 'train', 4).to_pylist()
    self.assertEqual(
      [(r['client_id'], r['examples'], r['words']) for r in rows],
      [('b', 2, 3), ('a' * 9999, 1, 2**40)],
    )
    self.assertEqual({(r['split'], r['shard']) for r in rows}, {('train', 4)})
    records = tf.data.TFRecordDataset(str(path)).as_numpy_iterator()
    self.assertEqual([r['record_bytes'] for r in rows], list(map(len, records)))

  # Where lengths get another byte.
  @parameterized.parameters(0, 127, 128, 2**14 - 1, 2**14, 2**21, 2**28)
  def test_fields(self, size):
    content = b'a' * size
    message = tf.train.BytesList(value=[content]).SerializeToString()
    self.assertEqual(client_files._header(1, size) + content, message)
    (num_bytes,) = client_files._field_sizes(np.array([size]))
    self.assertLen(message, num_bytes)
    self.assertEqual(
      client_files._read_field(io.BytesIO(message + b'more')), content
    )

  def test_what_fails_leaves_nothing(self):
    with self.assertRaises(KeyboardInterrupt):
      with client_files.ClientFile(self.path) as file:
        file.write('a', [b'x'], sizes=np.array([1]), words=1)
        raise KeyboardInterrupt
    self.assertEmpty(list(self.path.parent.iterdir()))

  def test_records_without_context(self):
    record = serialization.create_sequence_example([b'x']).SerializeToString()
    for content in (record, b'', b'\x0a', b'\x0a\x80', b'\x0a\x01\xff'):
      with tf.io.TFRecordWriter(str(self.path)) as writer:
        writer.write(content)
      with self.assertRaisesRegex(
        errors.InputError, 'at byte 0 of .* must have the id and the sizes'
      ):
        client_files.read_index(self.path, 'train', 0)
