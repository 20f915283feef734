# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of RoBERTa's tokens, against the transformers library."""

import json

from fedfish_tff import errors
from tasks.text import roberta_tokens
from tests import roberta_files
from tests import temporary_folders

from absl.testing import parameterized
import numpy as np
import transformers

_LENGTH = roberta_files.LENGTH


def _without_tokens(tokenizer):
  del tokenizer  # There is nothing to keep.


def _with_other_padding(tokenizer):
  vocabulary = {**tokenizer['model']['vocab'], '<pad>': 2, '</s>': 1}
  model = {**tokenizer['model'], 'vocab': vocabulary}
  return json.dumps({**tokenizer, 'model': model, 'added_tokens': []})


class RobertaTokensTest(temporary_folders.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._tokens = roberta_files.train_tokens()

  def _load(self):
    return roberta_tokens.load_roberta_tokens(
      self.folder, sequence_length=_LENGTH
    )

  def test_equal_those_of_the_library(self):
    tokenizer = roberta_files.save_tokens(self.folder, self._tokens)
    slow = self.folder / 'parts'
    slow.mkdir()
    (slow / 'vocab.json').write_text(json.dumps(tokenizer['model']['vocab']))
    (slow / 'merges.txt').write_text(
      '#version: 0.2\n'
      + ''.join(' '.join(m) + '\n' for m in tokenizer['model']['merges'])
    )
    library = transformers.RobertaTokenizerFast(
      str(slow / 'vocab.json'), str(slow / 'merges.txt')
    )
    self.assertEqual(library.pad_token_id, 1)
    texts = ['', 'A team', 'Ein größeres Zelt\t!', ' so  much ' * 20, '<b>']
    expected = library(
      texts, padding='max_length', truncation=True, max_length=_LENGTH
    )['input_ids']
    self.assertTrue(any(row[-1] == 2 and 1 not in row for row in expected))
    np.testing.assert_array_equal(self._tokens.encode(texts), expected)
    # The same, read from the file, and from the two files.
    loaded = self._load()
    self.assertEqual(loaded.size, self._tokens.size)
    np.testing.assert_array_equal(loaded.encode(texts), expected)
    (self.folder / 'tokenizer.json').unlink()
    for file in slow.iterdir():
      file.rename(self.folder / file.name)
    loaded = self._load()
    self.assertEqual(loaded.size, self._tokens.size)
    np.testing.assert_array_equal(loaded.encode(texts), expected)

  def test_a_text_cannot_end_itself(self):
    (row,) = self._tokens.encode([b'a</s><pad>b'])
    self.assertEqual((row[0], list(row).count(0)), (0, 1))
    self.assertEqual(list(row).count(2), 1)
    self.assertNotIn(1, row)

  def test_order_of_texts_does_not_matter(self):
    texts = roberta_files.TEXTS
    tokens = self._tokens.encode(texts)
    self.assertEqual((tokens.dtype, tokens.shape), (np.int32, (48, _LENGTH)))
    np.testing.assert_array_equal(
      roberta_files.train_tokens(texts[::-1]).encode(texts), tokens
    )

  @parameterized.parameters(
    ({'vocabulary_size': 260}, 'vocabulary_size .*got 260'),
    ({'texts': []}, 'There .*text'),
    ({'texts': [b'\xff']}, 'valid UTF-8'),
  )
  def test_faulty_texts(self, options, regex):
    options = {'texts': ['a'], 'vocabulary_size': 261, **options}
    with self.assertRaisesRegex(errors.InputError, regex):
      roberta_tokens.train_roberta_tokens(**options, sequence_length=_LENGTH)

  @parameterized.parameters(
    (_without_tokens, 'tokens, tokenizer.json'),
    (lambda tokenizer: '{}', 'The tokens of .* cannot be read'),
    (_with_other_padding, 'ids <s> 0, </s> 1, <pad> 2'),
  )
  def test_faulty_files(self, change, regex):
    tokenizer = roberta_files.save_tokens(self.folder, self._tokens)
    path = self.folder / 'tokenizer.json'
    path.unlink()
    if content := change(tokenizer):
      path.write_text(content)
    with self.assertRaisesRegex(errors.InputError, regex) as raised:
      self._load()
    self.assertNotIn('\n', str(raised.exception))
