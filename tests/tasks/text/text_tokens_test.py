# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of tokens of texts and of generated news."""

from fedfish_tff import errors
from tasks.text import generated_news
from tasks.text import text_tokens

from absl.testing import absltest
import numpy as np
from sklearn import linear_model
from sklearn.feature_extraction import text as sklearn_text

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


class GeneratedNewsTest(absltest.TestCase):
  def test_is_a_function_of_the_seed(self):
    first, again, other = (
      generated_news.generate_news(41, seed=seed) for seed in (0, 0, 1)
    )
    self.assertEqual(first.texts, again.texts)
    np.testing.assert_array_equal(first.labels, again.labels)
    self.assertNoCommonElements(first.texts, other.texts)
    np.testing.assert_array_equal(np.bincount(first.labels), [10] * 4)
    self.assertEqual(first.labels.dtype, np.int32)
    for text in first.texts:
      self.assertBetween(len(text.split()), 12, 40)

  def test_a_linear_model_gets_most_of_them(self):
    news = generated_news.generate_news(4000, seed=0)
    counts = sklearn_text.CountVectorizer().fit_transform(news.texts)
    model = linear_model.LogisticRegression(C=0.1, max_iter=200)
    model.fit(counts[:3000], news.labels[:3000])
    accuracy = model.score(counts[3000:], news.labels[3000:])
    self.assertBetween(accuracy, 0.8, 0.95)
