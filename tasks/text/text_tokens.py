# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Conversion of texts to token ids of one length, for text classifiers."""

from collections.abc import Sequence

from fedfish_tff import datasets

import numpy as np


def train_word_pieces(texts: Sequence[str], size: int) -> datasets.Vocabulary:
  """Trains a vocabulary of word pieces in lower case.

  Args:
    texts: The texts; their order does not matter.
    size: The number of token ids, special ones included; fewer if the texts do
      not hold as many.

  Raises:
    errors.InputError: If there is no text, or `size` is too small for single
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
    vocabulary: The vocabulary of the tokens.
    texts: The texts; each is truncated after `sequence_length` tokens.
    sequence_length: The number of tokens per text; shorter ones are padded.
  """
  tokens = np.full(
    (len(texts), sequence_length), vocabulary.special_tokens.pad, np.int32
  )
  for row, text in zip(tokens, texts):
    ids = vocabulary.encode(text)[:sequence_length]
    row[: len(ids)] = ids
  return tokens
