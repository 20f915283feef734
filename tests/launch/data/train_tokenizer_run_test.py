# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the way from clients' texts to a vocabulary's file."""

import contextlib
import gzip
import io
import json

from fedfish_tff import datasets
from fedfish_tff import errors
from launch.data import train_tokenizer_run
from tests import local_data
from tests import temporary_folders

from absl.testing import parameterized
import tensorflow as tf


class TrainTokenizerRunTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    self.output = self.folder / 'vocabulary.json'

  def _run(self, texts, dtype=tf.string, **options):
    folder = self.folder / 'clients'
    features = {'text': tf.TensorSpec([], dtype)}
    with datasets.GroupedWriter(folder, features=features) as writer:
      for i, text in enumerate(texts):
        writer.write('train', f'client {i}', [{'text': text}])
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
      train_tokenizer_run.run(
        str(folder),
        str(self.output),
        **{'kind': 'word', 'vocabulary_size': 50, **options},
      )
    return printed.getvalue()

  @parameterized.parameters(
    ([b'good', b'b\xffd'], tf.string, "client 'client 1'.*UTF-8.*byte 1"),
    ([1], tf.int64, "'text' of client 'client 0'.*int64"),
  )
  def test_what_cannot_be_read_is_named(self, texts, dtype, message):
    with self.assertRaisesRegex(errors.InputError, message):
      self._run(texts, dtype)
    self.assertFalse(self.output.exists())

  def test_interrupted_writing_leaves_nothing(self):
    self.output.mkdir()
    with self.assertRaisesRegex(errors.InputError, 'Cannot write'):
      self._run(['a'])

  @parameterized.parameters('bpe', 'word_piece')
  def test_news(self, kind):
    folder = local_data.find_sample('allsides_news')
    (path,) = folder.glob('*.jsonl.gz')
    with gzip.open(path, 'rt') as lines:
      texts = [json.loads(line)['text'] for line in lines]
    printed = self._run(
      texts[:250], kind=kind, vocabulary_size=1500, max_texts=200
    )
    self.assertIn(f'1,500 tokens ({kind}) from 200 texts', printed)
    self.assertEqual(datasets.load_vocabulary(self.output).size, 1500)
