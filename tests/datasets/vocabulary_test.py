# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of vocabularies and of their training."""

import collections
import functools
import gzip
import json
import os
import pathlib
import subprocess
import sys
from unittest import mock

from fedfish_tff import errors
from fedfish_tff.datasets import vocabulary
from fedfish_tff.datasets import vocabulary_training
from tests import local_data
from tests import processes

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies
import numpy as np

_KINDS = tuple(vocabulary_training.VocabularyKind)
_BPE, _WORD_PIECE, _WORD = _KINDS
_TEXTS = [
  'The cat sat on the mat, and the cat sang.',
  'A hat! The cat has a hat; the bat has a cat.',
  'Ünïcode façade: naïve café, 東京 and 東京都.',
  'sing sang sung, ring rang rung, sitting singing ringing',
] * 3


# Hashes of strings differ between processes, as do those of the library.
_TRAIN_AGAIN = """
import json
from fedfish_tff.datasets import vocabulary_training
from tests.datasets import vocabulary_test
print(json.dumps([
  vocabulary_test.train(kind, reverse=True).to_json()
  for kind in vocabulary_training.VocabularyKind
]))
"""


def train(kind, size=None, *, reverse=False, **kwargs):
  texts = _TEXTS[::-1] if reverse else _TEXTS
  size = size or {_BPE: 300, _WORD_PIECE: 120, _WORD: 20}[kind]
  return vocabulary_training.train_vocabulary(
    texts, kind=kind, size=size, **kwargs
  )


_train = functools.cache(train)


class VocabularyTest(parameterized.TestCase):
  @parameterized.parameters(*_KINDS)
  def test_no_text_holds_special_tokens(self, kind):
    found = vocabulary_training.train_vocabulary(
      [*_TEXTS, '[PAD] [BOS] [EOS]'], kind=kind, size=400
    )
    for text in ('[EOS]', 'a [PAD] [BOS]', '[EOS] cat[BOS]'):
      ids = found.encode(text)
      self.assertEqual(ids.dtype, np.int32)
      self.assertNoCommonElements(ids.tolist(), [0, 1, 2])
      if kind is _BPE:
        self.assertEqual(found.decode(ids), text)

  @parameterized.parameters(*_KINDS)
  def test_a_file_gives_the_same_tokens(self, kind):
    path = pathlib.Path(self.create_tempdir().full_path) / 'vocabulary.json'
    found = _train(kind)
    path.write_text(found.to_json())
    loaded = vocabulary.load_vocabulary(path)
    self.assertEqual(loaded.size, found.size)
    self.assertEqual(loaded.special_tokens, found.special_tokens)
    self.assertEqual(loaded.to_json(), found.to_json())
    for text in _TEXTS:
      np.testing.assert_array_equal(loaded.encode(text), found.encode(text))
      np.testing.assert_array_equal(
        loaded.encode(text.encode()), found.encode(text)
      )

  @hypothesis.settings(max_examples=50)
  @hypothesis.given(
    strategies.text(strategies.characters(exclude_categories=['Cs']))
  )
  def test_byte_pairs_write_every_text(self, text):
    found = _train(_BPE)
    ids = found.encode(text)
    self.assertEqual(found.decode(ids), text)
    self.assertTrue(all(3 < i < found.size for i in ids.tolist()))

  def test_single_characters(self):
    found = vocabulary.create_character_vocabulary('ab\n []PAD')
    text = 'b [PAD]\nab'
    ids = found.encode(text)
    np.testing.assert_array_equal(ids, [5, 7, 8, 10, 11, 12, 9, 6, 4, 5])
    self.assertEqual(found.decode(ids), text)
    np.testing.assert_array_equal(found.encode('a\réa'), [4, 3, 3, 4])
    self.assertEqual(found.size, 13)

  def test_half_a_character_is_named(self):
    with self.assertRaisesRegex(errors.InputError, 'UTF-8.*byte 2'):
      _train(_BPE).encode(b'ab\xff')
    with self.assertRaisesRegex(errors.InputError, 'surrogate.*character 1'):
      _train(_BPE).encode('a\ud800')


class LoadingTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.path = (
      pathlib.Path(self.create_tempdir().full_path) / 'vocabulary.json'
    )

  def test_published_names_of_special_tokens(self):
    description = json.loads(_train(_WORD_PIECE).to_json())
    names = {'[BOS]': '[CLS]', '[EOS]': '[SEP]'}
    ids = description['model']['vocab']
    ids.update({name: ids.pop(old) for old, name in names.items()})
    for token in description['added_tokens']:
      token['content'] = names.get(token['content'], token['content'])
    description['truncation'] = dict(
      direction='Right', max_length=2, strategy='LongestFirst', stride=0
    )
    self.path.write_text(json.dumps(description))
    found = vocabulary.load_vocabulary(self.path)
    self.assertEqual(found.special_tokens, (0, 1, 2, 3))
    np.testing.assert_array_equal(
      found.encode(_TEXTS[0]), _train(_WORD_PIECE).encode(_TEXTS[0])
    )

  @parameterized.parameters(
    (None, 'Cannot read .*: No such file'),
    (b'', 'must be a vocabulary'),
    (b'{"a": 1}', 'must be a vocabulary'),
    (b'\xff\xfe', 'must be a vocabulary'),
    (b'{"version": "1.0", "trunc', 'must be a vocabulary'),
  )
  def test_bad_files(self, content, message):
    if content is not None:
      self.path.write_bytes(content)
    with self.assertRaisesRegex(errors.InputError, message) as context:
      vocabulary.load_vocabulary(self.path)
    self.assertIn(str(self.path), str(context.exception))
    self.assertLen(str(context.exception).splitlines(), 1)

  @parameterized.parameters(
    ('[EOS]', '[END]', 'special token for eos.*</s>'),
    ('[PAD]', '[EOS]', 'special token for pad'),
  )
  def test_missing_special_tokens(self, old, new, message):
    self.path.write_text(_train(_WORD).to_json().replace(old, new))
    with self.assertRaisesRegex(errors.InputError, message):
      vocabulary.load_vocabulary(self.path)

  def test_padding_has_id_zero(self):
    content = _train(_WORD).to_json()
    content = content.replace('[PAD]', '[X]').replace('[BOS]', '[PAD]')
    self.path.write_text(content.replace('[X]', '[BOS]'))
    with self.assertRaisesRegex(errors.InputError, 'id of padding .*1'):
      vocabulary.load_vocabulary(self.path)


class VocabularyTrainingTest(parameterized.TestCase):
  @parameterized.parameters(*_KINDS)
  def test_special_tokens(self, kind):
    found = train(kind)
    self.assertEqual(found.special_tokens, (0, 1, 2, 3))
    self.assertEqual(found.special_tokens._fields, ('pad', 'bos', 'eos', 'oov'))
    ids = json.loads(found.to_json())['model']['vocab']
    self.assertEqual(sorted(ids.values()), list(range(found.size)))

  def test_same_file_for_same_texts(self):
    """In another order, and another process."""
    again = subprocess.run(
      [sys.executable, '-c', _TRAIN_AGAIN],
      cwd=pathlib.Path(__file__).resolve().parents[2],
      env={**os.environ, 'PYTHONHASHSEED': '7'},
      capture_output=True,
      check=True,
      text=True,
      timeout=processes.HANG_SECONDS,
    )
    self.assertEqual(
      json.loads(again.stdout), [train(kind).to_json() for kind in _KINDS]
    )

  def test_words_are_the_most_frequent(self):
    found = train(_WORD, size=10)
    counts = collections.Counter(word for t in _TEXTS for word in t.split())
    expected = sorted(counts, key=lambda word: (-counts[word], word))[:6]
    for i, word in enumerate(expected):
      np.testing.assert_array_equal(found.encode(f' {word}\n'), [4 + i])
    np.testing.assert_array_equal(found.encode('xyzzy'), [3])
    self.assertEqual(
      found.decode([1, 4, 5, 2, 0]), f'{expected[0]} {expected[1]}'
    )

  def test_word_pieces(self):
    found = train(_WORD_PIECE)
    pieces = [found.decode([i]) for i in found.encode('cat!')]
    self.assertEqual(pieces, ['cat', '!'])
    # Longest pieces first, and only pieces that exist.
    ids = found.encode('ringsang')
    self.assertGreater(len(ids), 1)
    self.assertEqual(found.decode(ids), 'ringsang')
    np.testing.assert_array_equal(
      found.encode('cat ☃'), [*found.encode('cat'), 3]
    )

  def test_word_pieces_are_not_special(self):
    found = train(_WORD_PIECE)
    for i in range(4, found.size):
      self.assertTrue(found.decode([i]), i)
    tokens = json.loads(found.to_json())['added_tokens']
    self.assertEqual([t['id'] for t in tokens], [0, 1, 2, 3])

  def test_rare_characters_of_word_pieces_are_left_out(self):
    with mock.patch.object(vocabulary_training, '_MOST_CHARACTERS', 8):
      vocabularies = [train(_WORD_PIECE, 40, reverse=r) for r in (False, True)]
    ids = json.loads(vocabularies[0].to_json())['model']['vocab']
    counts = collections.Counter(''.join(_TEXTS).replace(' ', ''))
    expected = sorted(counts, key=lambda c: (-counts[c], c))[:8]
    self.assertCountEqual([p for p in ids if len(p) == 1], expected)
    self.assertEqual(vocabularies[0].to_json(), vocabularies[1].to_json())

  @parameterized.parameters(*_KINDS)
  def test_lowercase(self, kind):
    found = train(kind, lowercase=True)
    np.testing.assert_array_equal(
      found.encode('THE CAT'), found.encode('the cat')
    )
    self.assertEqual(found.decode(found.encode('THE the')), 'the the')
    kept = train(kind)
    self.assertFalse(np.array_equal(kept.encode('THE'), kept.encode('the')))

  @parameterized.parameters(*_KINDS)
  def test_half_a_character_in_training(self, kind):
    for text in ('a\ud800', b'ab\xff'):
      with self.assertRaisesRegex(errors.InputError, 'surrogate|UTF-8'):
        vocabulary_training.train_vocabulary(['a', text], kind=kind, size=1000)


class TrainingTest(parameterized.TestCase):
  @parameterized.parameters(*_KINDS)
  def test_no_text(self, kind):
    with self.assertRaisesRegex(errors.InputError, 'at least one text'):
      vocabulary_training.train_vocabulary([], kind=kind, size=1000)

  @parameterized.parameters(
    (_BPE, 259, 260), (_WORD_PIECE, 10, 61), (_WORD, 4, 5)
  )
  def test_too_small(self, kind, size, least):
    with self.assertRaisesRegex(
      errors.InputError, f'at least {least} tokens.*size of {size}'
    ):
      train(kind, size)

  def test_the_least_size_will_do(self):
    self.assertEqual(train(_BPE, 260).size, 260)
    self.assertEqual(train(_WORD_PIECE, 61).size, 61)
    self.assertEqual(train(_WORD, 5).size, 5)

  def test_fewer_tokens_than_asked_for(self):
    self.assertLess(train(_WORD, 1000).size, 60)

  def test_iterators_end(self):
    with self.assertRaisesRegex(TypeError, 'iterator'):
      vocabulary_training.train_vocabulary(
        iter(_TEXTS), kind=_WORD_PIECE, size=100
      )

  @parameterized.product(
    kind=_KINDS, error=(errors.InputError('line 7'), KeyboardInterrupt())
  )
  def test_errors_of_texts_are_their_own(self, kind, error):
    class Texts:
      def __iter__(self):
        yield 'one two'
        raise error

    with self.assertRaises(type(error)) as context:
      vocabulary_training.train_vocabulary(Texts(), kind=kind, size=1000)
    self.assertIs(context.exception, error)


class RealTextTest(absltest.TestCase):
  def test_c4(self):
    folder = local_data.find_sample('c4_sample')
    with gzip.open(folder / 'c4_sample.jsonl.gz', 'rt') as lines:
      texts = [json.loads(line)['text'] for line in lines]
    found = vocabulary_training.train_vocabulary(texts, kind=_BPE, size=2000)
    self.assertEqual(found.size, 2000)
    sample = texts[:20]
    ids = [found.encode(text) for text in sample]
    for text, tokens in zip(sample, ids, strict=True):
      self.assertEqual(found.decode(tokens), text)
    # English needs far fewer tokens than characters.
    self.assertLess(2.5 * sum(map(len, ids)), sum(map(len, sample)))
