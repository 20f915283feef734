# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""An n-gram model of next words with interpolated Kneser-Ney smoothing.

Kneser and Ney (ICASSP 1995), interpolated as by Chen and Goodman (TR-10-98,
1998), with one discount per order:

  p(w | h) = (c(h w) - D) / c(h) + D N(h) / c(h) p(w | h')

h' is h without its oldest token, c(h) the sum of c(h w) over w, and N(h) the
number of words w with c(h w) > 0. If c(h w) = 0, the first term is 0. At the
highest order, c counts occurrences; at lower orders, the different tokens that
precede h w. Below single words, all tokens are equally likely.
D = n1 / (n1 + 2 n2) (Ney, Essen and Kneser, 1994), with the numbers n1 and n2
of the order's n-grams with c = 1 and c = 2. After a history that never
occurred, p is that after h'.
"""

from collections.abc import Sequence
from typing import NamedTuple

from fedfish_tff import errors
from fedfish_tff.datasets import vocabulary as vocabulary_lib

import numpy as np

# The discount of an order in which no n-gram occurs once.
_USUAL_DISCOUNT = 0.5


class _Order(NamedTuple):
  """The n-grams h w of one length, sorted by h and w.

  Attributes:
    histories: The sorted keys of the histories h, int64 [histories]. A key
      combines the oldest token with the number of the rest, a history of the
      order below.
    starts: The index of each history's first n-gram, int64 [histories + 1].
    words: The last token of each n-gram, int32 [n-grams].
    discounted: (c - D) / c(h) of each n-gram, float64 [n-grams].
    backoff: D N(h) / c(h) of each history, float64 [histories].
    suggestions: The likeliest words after each history, the likeliest first,
      int32 [histories, number].
  """

  histories: np.ndarray
  starts: np.ndarray
  words: np.ndarray
  discounted: np.ndarray
  backoff: np.ndarray
  suggestions: np.ndarray


class KneserNeyModel:
  """Predicts words from the few words before them."""

  def __init__(
    self,
    x: np.ndarray,
    y: np.ndarray,
    *,
    order: int,
    vocabulary_size: int,
    special_tokens: vocabulary_lib.SpecialTokens = (
      vocabulary_lib.DEFAULT_SPECIAL_TOKENS
    ),
    num_suggestions: int = 3,
  ) -> None:
    """Counts the n-grams, which are all kept in memory.

    Args:
      x: The tokens, int [rows, length]. Rows are independent: nothing precedes
        a row's first token.
      y: The tokens of x one place ahead, at least one of them a label; padding
        is not counted.
      order: The length n of n-grams, the predicted token included.
      vocabulary_size: The number of token ids.
      special_tokens: The tokens that are no words. Padding and bos are never
        predicted, and no special token is suggested.
      num_suggestions: The number of suggested words.
    """
    errors.check_positive_integer('order', order)
    self._special_tokens = special_tokens
    self._size = vocabulary_size
    self._num_suggestions = num_suggestions
    is_label = y != special_tokens.pad
    if not is_label.any():
      raise errors.InputError(
        'There must be at least one label to count n-grams of, got none.'
      )
    self._is_predicted = np.ones(vocabulary_size, bool)
    self._is_predicted[[special_tokens.pad, special_tokens.bos]] = False
    windows = self._windows(x, order - 1)[is_label]
    self._orders = self._count(windows, y[is_label])

  def suggest(self, x: np.ndarray) -> np.ndarray:
    """Returns the likeliest words after each token of some rows.

    Args:
      x: The independent rows, int [rows, length].

    Returns:
      int32 [rows, length, num_suggestions], the likeliest first; of equally
      likely words, the lower id comes first. If the vocabulary has too few
      words, the rest is -1.
    """
    found = self._find(self._windows(x, len(self._orders) - 1))
    suggestions = self._orders[0].suggestions[found[0]]
    for order, places in zip(self._orders[1:], found[1:]):
      is_known = places >= 0
      suggestions[is_known] = order.suggestions[places[is_known]]
    return suggestions

  def probabilities(self, history: Sequence[int]) -> np.ndarray:
    """Returns the probability of each next token, float64 [vocabulary].

    Args:
      history: The tokens of a row so far; only the last order - 1 matter.
    """
    row = np.array([history], np.int32).reshape([1, -1])
    padded = self._windows(row, len(self._orders) - 1)[:, -1:]
    result = self._is_predicted / self._is_predicted.sum()
    for order, places in zip(self._orders, self._find(padded)):
      place = places.item()
      if place >= 0:
        here = slice(order.starts[place], order.starts[place + 1])
        result *= order.backoff[place]
        result[order.words[here]] += order.discounted[here]
    return result

  def _windows(self, x: np.ndarray, size: int) -> np.ndarray:
    """Returns the last tokens at each place, [rows, length, size].

    Padding precedes a row's first token, so that all n-grams have the highest
    order.
    """
    if not size:
      return np.zeros([*x.shape, 0], np.int64)
    padded = np.pad(
      np.asarray(x, np.int64),
      [(0, 0), (size - 1, 0)],
      constant_values=self._special_tokens.pad,
    )
    return np.lib.stride_tricks.sliding_window_view(padded, size, axis=1)

  def _count(self, windows: np.ndarray, labels: np.ndarray) -> list[_Order]:
    """Returns the orders, single words first.

    Args:
      windows: The tokens before each label, int64 [n-grams, order - 1].
      labels: The last token of each n-gram, int [n-grams].
    """
    histories, ids = [np.zeros(1, np.int64)], np.zeros(len(labels), np.int64)
    for token in windows.T[::-1]:
      keys, ids = np.unique(
        token * len(histories[-1]) + ids, return_inverse=True
      )
      histories.append(keys)
    size = self._size
    keys, counts = np.unique(ids * size + labels, return_counts=True)
    grams = [(keys, counts, np.zeros_like(keys))]
    for held, lower in zip(histories[:0:-1], histories[-2::-1]):
      # The count of an n-gram among the longer ones without their oldest tokens
      # is the number of different tokens before it.
      keys, shorter, counts = np.unique(
        held[keys // size] % len(lower) * size + keys % size,
        return_inverse=True,
        return_counts=True,
      )
      grams[-1] = (*grams[-1][:2], shorter)
      grams.append((keys, counts, np.zeros_like(keys)))
    orders = []
    # The suggestions below single words: all words are equally likely, so the
    # first ones are suggested.
    words = np.setdiff1d(np.arange(size), self._special_tokens)
    number = self._num_suggestions
    suggested = np.pad(words, (0, number), constant_values=-1)[
      np.newaxis, :number
    ]
    uniform = 1 / self._is_predicted.sum()
    scores = np.where(suggested < 0, -1, uniform)
    likely = np.array([uniform])
    for held, (keys, counts, shorter) in zip(histories, grams[::-1]):
      owners, words = np.divmod(keys, size)
      totals = np.bincount(owners, counts)
      starts = np.searchsorted(owners, np.arange(len(held) + 1))
      discount = _discount(counts)
      discounted = (counts - discount) / totals[owners]
      backoff = discount * np.diff(starts) / totals
      likely = discounted + backoff[owners] * likely[shorter]
      # Words unseen after a history have the order of the shorter history, so
      # only the first words there can be among the first words here.
      rest = held % len(suggested)
      suggested, scores = self._choose(
        keys, likely, suggested[rest], backoff[:, np.newaxis] * scores[rest]
      )
      orders.append(
        _Order(
          histories=held,
          starts=starts,
          words=words.astype(np.int32),
          discounted=discounted,
          backoff=backoff,
          suggestions=suggested.astype(np.int32),
        )
      )
    return orders

  def _choose(
    self,
    keys: np.ndarray,
    likely: np.ndarray,
    others: np.ndarray,
    scores: np.ndarray,
  ) -> tuple[np.ndarray, np.ndarray]:
    """Returns the likeliest words of each history and their probabilities.

    Args:
      keys: The sorted n-grams: history * vocabulary_size + word.
      likely: The probability of each n-gram's word.
      others: Words that may be unseen, int [histories, num_suggestions].
      scores: The probabilities of these words if unseen, of the same shape.
    """
    number = len(others)
    owners, words = np.divmod(keys, self._size)
    other_owners = np.repeat(np.arange(number), others.shape[1])
    others, scores = others.ravel(), scores.ravel()
    is_none = np.concatenate(
      [
        np.isin(words, self._special_tokens),
        np.isin(other_owners * self._size + others, keys) | (others < 0),
      ]
    )
    owners = np.concatenate([owners, other_owners])
    words = np.where(is_none, -1, np.concatenate([words, others]))
    scores = np.where(is_none, -1, np.concatenate([likely, scores]))
    order = np.lexsort([words, -scores, owners])
    first = np.searchsorted(owners[order], np.arange(number))
    chosen = order[first[:, np.newaxis] + np.arange(self._num_suggestions)]
    return words[chosen], scores[chosen]

  def _find(self, windows: np.ndarray) -> list[np.ndarray]:
    """Returns the numbers of the histories, shortest first; -1 for unknown.

    Args:
      windows: The last tokens at each place, int64 [rows, length, order - 1].
    """
    places = [np.zeros(windows.shape[:2], np.int64)]
    for number, order in enumerate(self._orders[1:], 1):
      keys = windows[..., -number] * len(self._orders[number - 1].histories)
      keys += places[-1]
      found = np.searchsorted(order.histories, keys)
      found = np.minimum(found, len(order.histories) - 1)
      is_known = (places[-1] >= 0) & (order.histories[found] == keys)
      places.append(np.where(is_known, found, -1))
    return places


def _discount(counts: np.ndarray) -> float:
  """Returns D of an order from the counts of its n-grams."""
  once, twice = (np.count_nonzero(counts == number) for number in (1, 2))
  return once / (once + 2 * twice) if once else _USUAL_DISCOUNT
