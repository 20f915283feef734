# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Synthetic news of four classes, for trials without AG News.

Every class has words of its own. News of other classes sometimes use them too,
so every model misclassifies some news. The data serve as a demonstration and
say nothing about real news.
"""

from fedfish_tff import datasets
from tasks.text import ag_news_files
from tasks.text import generated_pages

import numpy as np

_WORDS_PER_CLASS = 150
_NUM_COMMON_WORDS = 200
_LENGTHS = (12, 40)
# The shares of a text's words from its own class, and from any class.
_OWN_SHARE = 0.20
_ANY_SHARE = 0.20


def generate_news(num_news: int, *, seed: int) -> ag_news_files.News:
  """Generates news, the same number of each class.

  Args:
    num_news: The number of news, rounded down to a multiple of the number of
      classes.
    seed: The seed; the news are a function of it and of `num_news`.

  Returns:
    News in random order.
  """
  num_classes = len(ag_news_files.CLASS_NAMES)
  words = np.array(
    list(
      generated_pages.PageGenerator(
        num_domains=1,
        num_words=_NUM_COMMON_WORDS + num_classes * _WORDS_PER_CLASS,
        num_topics=1,
        seed=seed,
      ).words()
    )
  )
  stream = datasets.random_generator('generated news', seed)
  common, special = np.split(words, [_NUM_COMMON_WORDS])
  special = stream.permutation(special).reshape(num_classes, _WORDS_PER_CLASS)
  labels = stream.permutation(
    np.repeat(np.arange(num_classes, dtype=np.int32), num_news // num_classes)
  )
  return ag_news_files.News(
    texts=tuple(_make_text(stream, common, special, label) for label in labels),
    labels=labels,
  )


def _make_text(
  stream: np.random.Generator,
  common: np.ndarray,
  special: np.ndarray,
  label: int,
) -> str:
  low, high = _LENGTHS
  length = int(stream.integers(low, high + 1))
  kind = stream.random(length)
  text = np.where(
    kind < _OWN_SHARE,
    stream.choice(special[label], length),
    np.where(
      kind < _OWN_SHARE + _ANY_SHARE,
      stream.choice(special.ravel(), length),
      stream.choice(common, length),
    ),
  )
  return ' '.join(text)
