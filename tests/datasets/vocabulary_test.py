# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of vocabularies."""

import functools
import json
import pathlib

from fedfish_tff import errors
from fedfish_tff.datasets import vocabulary
from fedfish_tff.datasets import vocabulary_training

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


@functools.cache
def _train(kind):
  return vocabulary_training.train_vocabulary(
    _TEXTS, kind=kind, size={_BPE: 300, _WORD_PIECE: 120, _WORD: 20}[kind]
  )


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
