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


def _run_here(*arguments: str) -> binary_runner.Outcome:
  return binary_runner.run_here('launch.train_tokenizer', *arguments)


class TrainTokenizerTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    self.output = self.folder / 'new' / 'vocabulary.json'

  def _run(self, *arguments):
    return _run_here(f'--output={self.output}', *arguments)

  def test_a_folder_of_clients(self):
    folder = self.folder / 'clients'
    features = dict(text=tf.TensorSpec([], tf.string))
    with datasets.GroupedWriter(folder, features=features) as writer:
      for name, split, texts in (
        ('a', 'train', ['one two two', 'two three three three']),
        ('b', 'train', ['three']),
        ('c', 'held_out', ['secret secret secret']),
      ):
        writer.write(split, name, [dict(text=text) for text in texts])
    outcome = self._run(
      f'--input={folder}', '--kind=word', '--vocabulary_size=100'
    )
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
    self.assertEqual(
      [p.name for p in self.output.parent.iterdir()], ['vocabulary.json']
    )

    arguments = f'--input={folder}', '--kind=word', '--vocabulary_size=100'
    self.assertEqual(_run_here(*arguments).code, 0)
    self.assertEqual(
      (folder / 'vocabulary.json').read_bytes(), self.output.read_bytes()
    )
    again = _run_here(*arguments)
    self.assertEqual((again.code, again.stdout), (2, ''))
    self.assertIn('must be a new file', again.stderr)

  def test_bad_input_is_one_line(self):
    folder = self.folder / 'clients'
    features = dict(text=tf.TensorSpec([], tf.string))
    with datasets.GroupedWriter(folder, features=features) as writer:
      writer.write('train', 'a', [dict(text='ab ab')])
    (self.folder / 'folder').mkdir()
    for arguments, message in (
      (['--input=nowhere'], 'nowhere'),
      ([f'--input={self.folder}/folder'], 'dataset.json'),
      ([f'--input={folder}', '--feature=url'], 'url'),
      ([f'--input={folder}', '--vocabulary_size=9'], 'at least 260 tokens'),
    ):
      outcome = self._run(*arguments)
      self.assertEqual(outcome.code, 2, outcome.stderr)
      self.assertLen(outcome.stderr.splitlines(), 1, outcome.stderr)
      self.assertIn(message, outcome.stderr)
      self.assertFalse(self.output.parent.exists())
    outcome = self._run(
      f'--input={folder}', '--kind=bpe', '--vocabulary_size=261', '--lowercase'
    )
    self.assertEqual((outcome.code, outcome.stderr), (0, ''))
    normalizer = json.loads(self.output.read_text())['normalizer']
    self.assertEqual(normalizer, {'type': 'Lowercase'})

  @parameterized.parameters('bpe', 'word_piece')
  def test_news(self, kind):
    sample = local_data.find_sample('allsides_news')
    (path,) = sample.glob('*.jsonl.gz')
    folder = self.folder / 'clients'
    features = dict(text=tf.TensorSpec([], tf.string))
    with (
      gzip.open(path, 'rt') as lines,
      datasets.GroupedWriter(folder, features=features) as writer,
    ):
      for i, line in zip(range(250), lines):
        writer.write('train', f'{i}', [dict(text=json.loads(line)['text'])])
    outcome = self._run(
      f'--input={folder}',
      f'--kind={kind}',
      '--vocabulary_size=1500',
      '--max_texts=200',
    )
    self.assertIn(f'1,500 tokens ({kind}) from 200 texts', outcome.stdout)
    self.assertEqual(datasets.load_vocabulary(self.output).size, 1500)
