# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Conversion of texts to token ids of one length, for text classifiers."""

from collections.abc import Sequence

from fedfish_tff import datasets

import numpy as np


def train_word_pieces(texts: Sequence[str], size: int) -> datasets.Vocabulary:
  """Trains a vocabulary of word pieces in lower case.

  Args:
    texts: The texts, at least one; their order does not matter.
    size: The number of token ids, with room for special ones and single
      characters; fewer if the texts do not hold as many.
  """
  return datasets.train_vocabulary(
    texts,
    kind=datasets.VocabularyKind.WORD_PIECE,
    size=size,
    lowercase=True,
  )


def tokenize(
  vocabulary: datasets.Vocabulary, texts: Sequence[str], sequence_length: int
) -> np.ndarray:
  """Returns the first tokens of each text, int32 [texts, sequence_length].

  Longer texts are truncated, and shorter ones padded.
  """
  tokens = np.full(
    (len(texts), sequence_length), vocabulary.special_tokens.pad, np.int32
  )
  for row, text in zip(tokens, texts):
    ids = vocabulary.encode(text)[:sequence_length]
    row[: len(ids)] = ids
  return tokens
