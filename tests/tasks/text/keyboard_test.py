# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Users' texts as sentences of words, and a keyboard's model of them."""

from fedfish_tff import datasets
from fedfish_tff import errors
from tasks.text import keyboard
from tests import grouped_clients
from tests import named_tensors
from tests import temporary_folders
from tests import tff_database

from absl.testing import parameterized
import numpy as np

_TEXTS = {
  'train': {
    'ann': ['One two. Two!', 'one two three four'],
    'bob': ['Two', '?!'],
    'silent': [':-)'],
  },
  'validation': {'cem': ['one']},
  'held_out': {'dan': ['five one']},
}


class KeyboardTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = self.folder / 'texts'

  def _create(self, texts=None, **options):
    grouped_clients.write_folder(self._folder, texts or _TEXTS)
    options = dict(sentence_length=3) | options
    return keyboard.create_task(
      seed=0, data_dir=str(self._folder), embedding=4, units=5, **options
    )

  def test_examples_are_sentences_of_frequent_words(self):
    task = self._create(vocabulary_size=6)  # Two words.
    pad, bos, eos, oov = datasets.DEFAULT_SPECIAL_TOKENS
    two, one = 4, 5
    x, y = task.train.load_client('ann')
    np.testing.assert_array_equal(
      x,
      [
        [bos, one, two],
        [bos, two, eos],
        # A long sentence goes on in another row.
        [bos, one, two],
        [oov, oov, eos],
      ],
    )
    np.testing.assert_array_equal(
      y, [[one, two, eos], [two, eos, pad], [one, two, oov], [oov, eos, pad]]
    )
    np.testing.assert_array_equal(
      task.train.load_client('bob'), [[[bos, two, eos]], [[two, eos, pad]]]
    )
    np.testing.assert_array_equal(
      task.train.load_client('silent'), [[[bos, eos, pad]], [[eos, pad, pad]]]
    )
    np.testing.assert_array_equal(
      task.test.load_client('dan')[1], [[oov, one, eos]]
    )

  def test_pooled_clients_are_one_with_the_same_words(self):
    apart = self._create()
    central = keyboard.create_task(
      seed=0, data_dir=str(self._folder), sentence_length=3, central=True
    )
    self.assertEqual(list(central.train.client_ids), [keyboard.CENTRAL_CLIENT])
    pooled = central.train.load_client(keyboard.CENTRAL_CLIENT)
    for array, *parts in zip(
      pooled, *map(apart.train.load_client, apart.train.client_ids)
    ):
      np.testing.assert_array_equal(array, np.concatenate(parts))
    self.assertEqual(list(central.test.client_ids), ['dan'])

  def test_model_is_of_the_vocabulary_and_sizes(self):
    task = self._create()
    model = task.create_model()
    named_tensors.assert_named(task.tensor_names, model.initial_weights[0])
    # Special tokens, and one to four.
    self.assertEqual(model.initial_weights[0][0].shape, (8, 4))
    self.assertIn(
      task.metric, model.finalize_metrics(model.initialize_metrics_state())
    )

  def test_held_out_authors_of_stack_overflow(self):
    """Authors of TFF's split test are in train, too."""

    def post(tokens):
      texts = {'tokens': tokens, 'tags': '', 'title': '', 'type': ''}
      return {k: [v.encode()] for k, v in texts.items()} | {
        'creation_date': [b''],
        'score': [1],
      }

    self._folder.mkdir()
    tff_database.write_tff_database(
      self._folder / 'stackoverflow.sqlite',
      {
        'train': {'1': [post('i see')], '2': [post('i do .')]},
        'heldout': {'8': [post('i')], '9': [post('see i')]},
        'test': {'1': [post('do')]},
      },
    )
    task = keyboard.create_task(seed=0, data_dir=str(self._folder))
    self.assertEqual(list(task.train.client_ids), ['1', '2'])
    self.assertEqual(list(task.validation.client_ids), ['8'])
    self.assertEqual(list(task.test.client_ids), ['9'])
    x, _ = task.train.load_client('2')
    self.assertEqual(task.transfer_options['vocabulary'].decode(x[0]), 'i do')

  def test_texts_without_words_make_no_vocabulary(self):
    with self.assertRaisesRegex(
      errors.InputError, 'vocabulary has only special'
    ):
      self._create({**_TEXTS, 'train': {'silent': ['...']}})

  @parameterized.parameters(
    ('', ['']),
    ('I don\N{RIGHT SINGLE QUOTATION MARK}t know', ["i don't know"]),
    (
      'E.g. 3.14 (pi)? Well-known\nyes!',
      ['e g', '3 14 pi', 'well-known', 'yes', ''],
    ),
    ('Hello. How ', ['hello', 'how']),
  )
  def test_sentences(self, text, sentences):
    self.assertEqual(keyboard.split_sentences(text), sentences)
