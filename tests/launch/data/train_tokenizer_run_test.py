# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the way from texts to a vocabulary's file."""

import contextlib
import gzip
import io
import json
import pathlib

from fedfish_tff import datasets
from fedfish_tff import errors
from launch.data import train_tokenizer_run
from tests import local_data

from absl.testing import parameterized

_TEXTS = ['one two two', 'three three three', 'vier und zwei ☃']


class TrainTokenizerRunTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.output = self.folder / 'vocabulary.json'

  def _run(self, pattern, **options):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
      train_tokenizer_run.run(
        str(self.folder / pattern),
        str(self.output),
        **{'kind': 'word', 'vocabulary_size': 50, **options},
      )
    return printed.getvalue()

  @parameterized.parameters('.jsonl', '.json.gz', '.txt', '.txt.gz', '.JSON')
  def test_all_kinds_of_files(self, suffix):
    is_json = 'json' in suffix.lower()
    for number, texts in enumerate((_TEXTS[:2], _TEXTS[2:])):
      lines = [json.dumps(dict(text=t)) if is_json else t for t in texts]
      content = '\n\n'.join(lines).encode()
      if suffix.endswith('.gz'):
        content = gzip.compress(content)
      (self.folder / f'part{number}{suffix}').write_bytes(content)
    printed = self._run('part*')
    characters = sum(map(len, _TEXTS))
    self.assertIn(f'from 3 texts of {characters} characters', printed)
    expected = datasets.train_vocabulary(
      _TEXTS, kind=datasets.VocabularyKind.WORD, size=50
    )
    self.assertEqual(self.output.read_text(), expected.to_json())

  @parameterized.parameters(
    ('a.jsonl', b'{"text": "a"}\nno', 'a.jsonl, line 2: No JSON'),
    ('a.jsonl', b'[' * 100_000, 'line 1: No JSON'),
    ('a.jsonl', b'[1]', "line 1: 'text' was expected, found no object"),
    ('a.jsonl', b'{"url": 1}', "line 1: 'text' was expected, found url"),
    ('a.jsonl', b'{"text": 1}', 'line 1: A int was found; a text was'),
    ('a.jsonl', b'{"text": "\\ud800"}', 'line 1: .*surrogate'),
    ('a.txt', b'good\nb\xffd', 'a.txt, line 2: .*UTF-8 at byte 1'),
    ('a.txt.gz', b'no gzip', 'a.txt.gz cannot be read to its end: Not a gzip'),
    ('a.txt.gz', gzip.compress(b'a b c')[:-9], 'cannot be read to its end'),
    ('a.csv', b'a', 'a.csv does not say what it holds; .*.json'),
    ('a.txt', b'\n\n', 'no text to train'),
  )
  def test_what_cannot_be_read_is_named(self, name, content, message):
    (self.folder / name).write_bytes(content)
    for kind in ('word', 'word_piece'):
      with self.assertRaisesRegex(errors.InputError, message):
        self._run(name, kind=kind)
    self.assertEqual([p.name for p in self.folder.iterdir()], [name])

  def test_interrupted_writing_leaves_nothing(self):
    (self.folder / 'a.txt').write_text('a')
    self.output.mkdir()
    with self.assertRaisesRegex(errors.InputError, 'Cannot write'):
      self._run('a.txt')

  def test_news(self):
    folder = local_data.find_sample('allsides_news')
    (path,) = folder.glob('*.jsonl.gz')
    with gzip.open(path, 'rt') as lines:
      record = json.loads(next(lines))
    feature = 'text' if 'text' in record else 'content'
    for kind in ('bpe', 'word_piece'):
      printed = self._run(
        path,
        feature=feature,
        kind=kind,
        vocabulary_size=1500,
        max_texts=200,
      )
      self.assertIn(f'1,500 tokens ({kind}) from 200 texts', printed)
      self.assertEqual(datasets.load_vocabulary(self.output).size, 1500)
