# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of token ids of one length."""

from fedfish_tff import errors
from tasks.text import text_tokens

from absl.testing import absltest
import numpy as np

_TEXTS = ['Rates rise again', 'the rates of the bank', 'a comet is seen'] * 4


class TextTokensTest(absltest.TestCase):
  def test_is_cut_and_filled_up(self):
    vocabulary = text_tokens.train_word_pieces(_TEXTS, 60)
    texts = ['Rates', 'the rates of the bank rise again', '']
    tokens = text_tokens.tokenize(vocabulary, texts, 6)
    self.assertEqual((tokens.shape, tokens.dtype), ((3, 6), np.int32))
    for row, text in zip(tokens, texts):
      expected = vocabulary.encode(text)[:6].tolist()
      self.assertEqual(row.tolist(), expected + [0] * (6 - len(expected)))
    self.assertNotIn(0, tokens[1])
    self.assertLess(tokens.max(), vocabulary.size)

  def test_case_is_of_no_account(self):
    vocabulary = text_tokens.train_word_pieces(_TEXTS, 60)
    upper, lower = text_tokens.tokenize(vocabulary, ['RATES', 'rates'], 9)
    np.testing.assert_array_equal(upper, lower)

  def test_is_a_function_of_texts_and_size(self):
    first, again = (
      text_tokens.train_word_pieces(texts, 60).to_json()
      for texts in (_TEXTS, _TEXTS[::-1])
    )
    self.assertEqual(first, again)
    self.assertNotEqual(
      first, text_tokens.train_word_pieces(_TEXTS, 50).to_json()
    )

  def test_too_small_a_vocabulary(self):
    with self.assertRaisesRegex(errors.InputError, 'a size of 5 was asked'):
      text_tokens.train_word_pieces(_TEXTS, 5)
