# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Kneser-Ney against the formula, counted anew for every n-gram."""

import collections
import functools

from fedfish_tff import datasets
from fedfish_tff import errors
from tasks import networks

from absl.testing import parameterized
import numpy as np

_PAD, _BOS, _EOS, _OOV = _SPECIAL = datasets.DEFAULT_SPECIAL_TOKENS
_SIZE = 12


def _make_rows(num_rows, seed):
  """Returns sentences in which some words follow some others often."""
  rng = np.random.default_rng(seed)
  documents = []
  for _ in range(num_rows):
    words = [int(rng.integers(_OOV, _SIZE))]
    for _ in range(rng.integers(0, 7)):
      often = (words[-1] * 5 + 1) % (_SIZE - _OOV) + _OOV
      words.append(
        often if rng.random() < 0.5 else int(rng.integers(_OOV, _SIZE))
      )
    documents.append(words)
  rows = [datasets.chunk_documents([d], sequence_length=6) for d in documents]
  return tuple(map(np.concatenate, zip(*rows)))


def _reference(x, y, order):
  """Returns the probability of a word after a history, by the definition."""
  grams = collections.Counter()
  for row, labels in zip(x, y):
    padded = [_PAD] * order + list(row)
    for i, label in enumerate(labels):
      if label != _PAD:
        end = order + i + 1
        grams[(*padded[end - order + 1 : end], label)] += 1
  counts = {order: grams}
  for n in range(order - 1, 0, -1):
    counts[n] = collections.Counter(gram[1:] for gram in counts[n + 1])
  discounts = {}
  for n, some in counts.items():
    once, twice = (list(some.values()).count(k) for k in (1, 2))
    discounts[n] = once / (once + 2 * twice) if once else 0.5

  @functools.cache
  def probability(history, word):
    n = len(history) + 1
    after = {g[-1]: c for g, c in counts[n].items() if g[:-1] == history}
    shorter = (
      probability(history[1:], word)
      if history
      else (word not in (_PAD, _BOS)) / (_SIZE - 2)
    )
    if not after:
      return shorter
    return (
      max(after.get(word, 0) - discounts[n], 0)
      + discounts[n] * len(after) * shorter
    ) / sum(after.values())

  return probability


class KneserNeyModelTest(parameterized.TestCase):
  @parameterized.parameters(1, 2, 3, 5)
  def test_probabilities_and_suggestions_are_those_of_the_formula(self, order):
    x, y = _make_rows(30, seed=0)
    model = networks.KneserNeyModel(x, y, order=order, vocabulary_size=_SIZE)
    reference = _reference(x, y, order)
    seen, unseen = x[:8], _make_rows(8, seed=1)[0]
    for row in (*seen, *unseen):
      suggestions = model.suggest(row[np.newaxis])[0]
      for i in range(np.count_nonzero(row)):
        padded = (*[_PAD] * order, *row[: i + 1].tolist())
        history = padded[len(padded) - order + 1 :]
        expected = np.array([reference(history, w) for w in range(_SIZE)])
        self.assertAlmostEqual(expected.sum(), 1)
        actual = model.probabilities(row[: i + 1])
        np.testing.assert_allclose(actual, expected, rtol=1e-12)
        # Of equal ones, by rounding not quite, the lower first.
        words = np.argsort(-np.round(expected, 13), kind='stable')
        np.testing.assert_array_equal(
          suggestions[i], words[~np.isin(words, _SPECIAL)][:3]
        )

  def test_a_vocabulary_of_fewer_words_than_are_suggested(self):
    x, y = datasets.chunk_documents([[5, 4]], sequence_length=3)
    model = networks.KneserNeyModel(x, y, order=2, vocabulary_size=6)
    np.testing.assert_array_equal(
      model.suggest(x)[0, :2], [[4, 5, -1], [4, 5, -1]]
    )

  def test_bad_input_is_named(self):
    x, y = _make_rows(2, seed=0)
    with self.assertRaisesRegex(errors.InputError, 'order'):
      networks.KneserNeyModel(x, y, order=0, vocabulary_size=_SIZE)
    with self.assertRaisesRegex(errors.InputError, 'at least one label'):
      networks.KneserNeyModel(
        x, np.zeros_like(y), order=2, vocabulary_size=_SIZE
      )
