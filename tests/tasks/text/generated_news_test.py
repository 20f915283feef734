# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of made-up news: repeatable, and neither easy nor hopeless."""

from tasks.text import generated_news

from absl.testing import absltest
import numpy as np
from sklearn import linear_model
from sklearn.feature_extraction import text as sklearn_text


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
