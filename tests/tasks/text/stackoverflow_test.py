# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the Stack Overflow task, on a few posts."""

from fedfish_tff import datasets
from fedfish_tff import errors
from tasks.text import stackoverflow
from tests import temporary_folders
from tests import tff_database

import numpy as np

_POSTS = {
  'train': {'1': ['a b b', 'c'], '2': ['b d d'], '3': ['e e e e e']},
  'heldout': {'9': ['a d']},
  # Author 1 writes on in the later part.
  'test': {'1': ['b z'], '4': ['a']},
}


def _post(tokens):
  return {
    'creation_date': [b'2017-01-01 00:00:00 UTC'],
    'score': [1],
    'tags': [b'qubit'],
    'title': [b'title'],
    'tokens': [tokens.encode()],
    'type': [b'question'],
  }


class StackOverflowTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    tff_database.write_tff_database(
      self.folder / 'stackoverflow.sqlite',
      {
        split: {c: list(map(_post, posts)) for c, posts in clients.items()}
        for split, clients in _POSTS.items()
      },
    )

  def _create(self, **options):
    options = dict(sequence_length=4, eval_sequence_length=3) | options
    return stackoverflow.create_task(
      seed=0, data_dir=str(self.folder), **options
    )

  def test_clients_are_those_of_tffs_splits(self):
    task = self._create()
    self.assertEqual(list(task.train.client_ids), ['1', '2', '3'])
    self.assertEqual(list(task.validation.client_ids), ['9'])
    self.assertEqual(list(task.test.client_ids), ['test/1', 'test/4'])

  def test_posts_become_chunks_of_words(self):
    task = self._create(vocabulary_size=9)
    vocabulary = datasets.train_vocabulary(
      [text for posts in _POSTS['train'].values() for text in posts],
      kind=datasets.VocabularyKind.WORD,
      size=9,
    )
    pad, bos, eos, oov = vocabulary.special_tokens
    a, b, c = (int(vocabulary.encode(w)[0]) for w in 'abc')
    x, y = task.train.load_client('1')
    np.testing.assert_array_equal(x, [[bos, a, b, b], [eos, bos, c, eos]])
    np.testing.assert_array_equal(y, [[a, b, b, eos], [pad, c, eos, pad]])
    x, _ = task.test.load_client('test/1')
    np.testing.assert_array_equal(x, [[bos, b, oov]])

  def test_words_are_counted_over_some_clients(self):
    few = self._create(vocabulary_clients=2)
    every = self._create(vocabulary_clients=0)
    x, _ = few.train.load_client('3')
    y, _ = every.train.load_client('3')
    self.assertIn(3, x)
    self.assertNotIn(3, y)

  def test_the_vocabulary_of_another_corpus(self):
    path = self.folder / 'vocabulary.json'
    vocabulary = datasets.train_vocabulary(
      ['z'], kind=datasets.VocabularyKind.WORD, size=9
    )
    path.write_text(vocabulary.to_json())
    task = self._create(vocabulary=str(path))
    x, _ = task.test.load_client('test/1')
    _, bos, _, oov = vocabulary.special_tokens
    z = int(vocabulary.encode('z')[0])
    np.testing.assert_array_equal(x, [[bos, oov, z]])

  def test_missing_data_is_told_with_its_address(self):
    (self.folder / 'stackoverflow.sqlite').unlink()
    with self.assertRaisesRegex(errors.InputError, 'stackoverflow.sqlite.lzma'):
      self._create()
