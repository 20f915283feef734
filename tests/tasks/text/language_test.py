# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""From clients' texts to a language model, on grouped folders and made-up pages."""

import os
import pathlib
from unittest import mock

from fedfish_tff import datasets
from fedfish_tff import errors
from tasks.text import language
from tests import named_tensors

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

_PAGES = {
  'train': {'a.com': ['one two', 'three'], 'b.com': ['two two two one']},
  'validation': {'c.com': ['one one one']},
  'held_out': {'d.com': ['three two', 'four'], 'e.com': ['one']},
}


def _write_folder(path):
  with datasets.GroupedWriter(
    path, features={'text': tf.TensorSpec([], tf.string)}
  ) as writer:
    for split, clients in _PAGES.items():
      for client_id, texts in clients.items():
        writer.write(split, client_id, [{'text': text} for text in texts])


def _vocabulary():
  return datasets.train_vocabulary(
    [
      ' '.join(texts)
      for clients in _PAGES.values()
      for texts in clients.values()
    ],
    kind=datasets.VocabularyKind.WORD,
    size=20,
  )


class GroupedFolderTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path) / 'pages'
    _write_folder(self._folder)
    self._vocabulary = _vocabulary()
    (self._folder / language.VOCABULARY_FILE).write_text(
      self._vocabulary.to_json()
    )

  def _create(self, **options):
    options = {
      'size': 'tiny',
      'sequence_length': 4,
      'eval_sequence_length': 2,
    } | options
    return language.TASKS['c4'](seed=0, data_dir=str(self._folder), **options)

  def test_splits_are_those_of_the_folder(self):
    task = self._create()
    for split, data in (
      ('train', task.train),
      ('validation', task.validation),
      ('held_out', task.test),
    ):
      self.assertEqual(list(data.client_ids), sorted(_PAGES[split]))

  def test_training_and_evaluation_have_chunks_of_their_own_length(self):
    task = self._create()
    pad, bos, eos, _ = self._vocabulary.special_tokens
    one, two, three = (
      int(self._vocabulary.encode(w)[0]) for w in ('one', 'two', 'three')
    )
    x, y = task.train.load_client('a.com')
    stream = [bos, one, two, eos, bos, three, eos]
    np.testing.assert_array_equal(x, [stream[:4], [*stream[4:], pad]])
    np.testing.assert_array_equal(
      y, [[one, two, eos, pad], [three, eos, pad, pad]]
    )
    x, y = task.validation.load_client('c.com')
    np.testing.assert_array_equal(x, [[bos, one], [one, one]])
    np.testing.assert_array_equal(y, [[one, one], [one, eos]])

  def test_another_vocabulary_may_be_named(self):
    other = pathlib.Path(self.create_tempdir().full_path) / 'other.json'
    smaller = datasets.train_vocabulary(
      ['one'], kind=datasets.VocabularyKind.WORD, size=10
    )
    other.write_text(smaller.to_json())
    home = mock.patch.dict(os.environ, HOME=str(other.parent))
    for name in (str(other), '~/other.json'):
      with self.subTest(name), home:
        task = self._create(vocabulary=name)
        weights = task.create_model().initial_weights[0]
        self.assertLen(weights[0], smaller.size)
        named_tensors.assert_named(task.tensor_names, weights)
        x, _ = task.train.load_client('b.com')
        self.assertIn(smaller.special_tokens.oov, x)

  def test_another_model_brings_its_vocabulary_along(self):
    """Even where the folder has one of its own."""
    other = datasets.train_vocabulary(
      ['one'], kind=datasets.VocabularyKind.WORD, size=10
    )
    task = self._create(vocabulary=other)
    self.assertIs(task.transfer_options['vocabulary'], other)
    self.assertEqual(task.transfer_options['eval_sequence_length'], 2)
    pad, bos, eos, oov = other.special_tokens
    x, y = task.test.load_client('d.com')
    np.testing.assert_array_equal(x, [[bos, oov], [oov, eos], [bos, oov]])
    np.testing.assert_array_equal(y, [[oov, oov], [eos, pad], [oov, eos]])

  def test_a_missing_vocabulary_tells_how_to_make_one(self):
    (self._folder / language.VOCABULARY_FILE).unlink()
    with self.assertRaisesRegex(errors.InputError, 'launch.train_tokenizer'):
      self._create()

  def test_a_recurrent_model_has_no_activation_type(self):
    with self.assertRaisesRegex(errors.InputError, 'activation_dtype'):
      self._create(activation_dtype='bfloat16', model='rnn').create_model()

  def test_texts_can_be_read_again_and_again(self):
    texts = language.Texts(datasets.GroupedClientData(self._folder, 'train'))
    expected = [b'one two', b'three', b'two two two one']
    self.assertEqual(list(texts), expected)
    self.assertEqual(list(texts), expected)
