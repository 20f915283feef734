# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of reading texts; those of launch.train_tokenizer read many."""

from fedfish_tff import datasets
from fedfish_tff import errors
from launch.data import client_texts
from tests import temporary_folders

from absl.testing import parameterized
import tensorflow as tf


class ClientTextsTest(temporary_folders.TestCase):
  @parameterized.parameters(
    ([b'good', b'b\xffd'], tf.string, "client 'client 1'.*UTF-8.*byte 1"),
    ([1], tf.int64, "'text' of client 'client 0'.*int64"),
  )
  def test_what_cannot_be_read_is_named(self, texts, dtype, message):
    folder = self.folder / 'clients'
    features = {'text': tf.TensorSpec([], dtype)}
    with datasets.GroupedWriter(folder, features=features) as writer:
      for i, text in enumerate(texts):
        writer.write('train', f'client {i}', [{'text': text}])
    with self.assertRaisesRegex(errors.InputError, message):
      list(client_texts.read_texts(folder))
