# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of clients of photographs: which there are, and damaged files."""

from fedfish_tff import errors
from tasks.features import photograph_clients
from tests import photograph_files
from tests import temporary_folders

import numpy as np
import tensorflow as tf


class PhotographClientsTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    photograph_files.write(self.folder)
    self._train = self.folder / 'train'

  def test_users_without_photographs_are_left_out(self):
    (self._train / 'nobody').write_bytes(b'')
    with self.assertLogs('absl', 'WARNING') as logs:
      records = photograph_clients.user_records(self._train)
    self.assertNotIn('nobody', records)
    self.assertIn('1 of 6 users', logs.output[0])

  def test_damaged_and_wrong_files(self):
    content = (self._train / 'user3').read_bytes()
    (self._train / 'user3').write_bytes(content[:-9])
    with tf.io.TFRecordWriter(str(self._train / 'user2')) as writer:
      writer.write(photograph_files.make_record(b'no image', 1))
    with tf.io.TFRecordWriter(str(self._train / 'user1')) as writer:
      jpeg = tf.io.encode_jpeg(np.zeros([8, 8, 3], np.uint8)).numpy()
      writer.write(photograph_files.make_record(jpeg, 1203))
    clients = photograph_clients.PhotographClientData(
      photograph_clients.user_records(self._train),
      image_size=32,
      num_classes=1203,
    )
    for client_id, regex in (
      ('user3', "Client 'user3': The file .*ends before the end"),
      ('user2', "photographs of client 'user2' .*cannot be decoded"),
      ('user1', "^Client 'user1': array 'class' .*1 label.* such as 1203"),
      ('user9', "got 'user9'"),
    ):
      with self.assertRaisesRegex(errors.InputError, regex):
        clients.load_client(client_id)

  def test_too_few_photographs(self):
    path = self.folder / 'test.tfRecord'
    photograph_files.write_records(path, 3, 7, np.random.default_rng(0))
    with self.assertRaisesRegex(errors.InputError, 'least.*photographs.*got 3'):
      photograph_clients.held_out_records(path)
    for user in self._train.iterdir():
      user.write_bytes(b'')
    with self.assertRaisesRegex(errors.InputError, r'\(5 empty files\)'):
      photograph_clients.user_records(self._train)
