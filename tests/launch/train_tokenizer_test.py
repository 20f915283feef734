# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of launch.train_tokenizer."""

import gzip
import json

from fedfish_tff import datasets
from tests import local_data
from tests import temporary_folders
from tests.launch import binary_runner

from absl.testing import parameterized
import tensorflow as tf


class TrainTokenizerTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    self.clients = self.folder / 'clients'
    self.output = self.clients / 'vocabulary.json'

  def _write(self, *clients, feature='text'):
    """Writes clients, each a split, a name and texts."""
    features = {feature: tf.TensorSpec([], tf.string)}
    with datasets.GroupedWriter(self.clients, features=features) as writer:
      for split, name, texts in clients:
        writer.write(split, name, [{feature: text} for text in texts])

  def _run(self, *arguments):
    return binary_runner.run_here(
      'launch.train_tokenizer', f'--input={self.clients}', *arguments
    )

  def test_a_folder_of_clients(self):
    self._write(
      ('train', 'a', ['one two two', 'two three three three']),
      ('train', 'b', ['three']),
      ('held_out', 'c', ['secret secret secret']),
    )
    arguments = '--kind=word', '--vocabulary_size=100'
    outcome = self._run(*arguments)
    self.assertEqual((outcome.code, outcome.stderr), (0, ''))
    self.assertIn(
      '7 tokens (word) from 3 texts of 37 characters.', outcome.stdout
    )
    self.assertIn('4.62 characters, and 0.00% of the tokens', outcome.stdout)
    self.assertEqual(outcome.stdout.splitlines()[-1], str(self.output))
    found = datasets.load_vocabulary(self.output)
    self.assertEqual(
      found.encode('three two one secret').tolist(), [4, 5, 6, 3]
    )
    again = self._run(*arguments)
    self.assertEqual((again.code, again.stdout), (2, ''))
    self.assertIn('must be a new file', again.stderr)

  def _refused(self, message, *arguments):
    outcome = self._run(*arguments)
    self.assertEqual(outcome.code, 2, outcome.stderr)
    self.assertLen(outcome.stderr.splitlines(), 1, outcome.stderr)
    self.assertIn(message, outcome.stderr)
    self.assertFalse(self.output.exists())

  def test_bad_input_is_one_line(self):
    self._refused(str(self.clients))
    self.clients.mkdir()
    self._refused('dataset.json')
    self.clients.rmdir()
    self._write(('train', 'a', ['ab ab']))
    self._refused('at least 260 tokens', '--vocabulary_size=9')

  def test_clients_without_texts_are_refused(self):
    self._write(('train', 'a', ['ab ab']), feature='url')
    self._refused("'text'")

  @parameterized.parameters('bpe', 'word_piece')
  def test_news(self, kind):
    sample = local_data.find_sample('allsides_news')
    (path,) = sample.glob('*.jsonl.gz')
    with gzip.open(path, 'rt') as lines:
      self._write(
        *(
          ('train', f'{i}', [json.loads(line)['text']])
          for i, line in zip(range(200), lines)
        )
      )
    outcome = self._run(f'--kind={kind}', '--vocabulary_size=1500')
    self.assertIn(f'1,500 tokens ({kind}) from 200 texts', outcome.stdout)
    self.assertEqual(datasets.load_vocabulary(self.output).size, 1500)
