# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""From texts to token ids of one length, for classifiers of texts."""

from collections.abc import Sequence

from fedfish_tff import datasets

import numpy as np


def train_word_pieces(texts: Sequence[str], size: int) -> datasets.Vocabulary:
  """Trains a vocabulary of word pieces in lower case.

  Args:
    texts: What to learn from; their order does not matter.
    size: The number of token ids, special ones included; fewer if the texts do
      not hold as many.

  Raises:
    errors.InputError: If there is no text, or `size` has no room for single
      characters.
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

  Args:
    vocabulary: Makes tokens of the texts.
    texts: The texts; what is after `sequence_length` tokens is left out.
    sequence_length: Tokens of a text; shorter ones are filled up with padding.
  """
  tokens = np.full(
    (len(texts), sequence_length), vocabulary.special_tokens.pad, np.int32
  )
  for row, text in zip(tokens, texts):
    ids = vocabulary.encode(text)[:sequence_length]
    row[: len(ids)] = ids
  return tokens
