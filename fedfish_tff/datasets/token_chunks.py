# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Chunks of tokens for a language model, made of a client's texts.

A document is bos, its tokens, eos. A client's documents are concatenated and
cut into chunks of one length: x, and y, which is x one token ahead. So every
token but the first is predicted once, also those at the cuts. Documents of
different clients are never concatenated.

The order of documents says nothing about language, so the start of a document
is given and not predicted. Labels that are bos become padding, and padding
counts in no loss and no metric.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping

from fedfish_tff import errors
from fedfish_tff.datasets import examples as examples_lib
from fedfish_tff.datasets import vocabulary as vocabulary_lib

import numpy as np


def chunk_documents(
  documents: Iterable[np.ndarray],
  *,
  sequence_length: int,
  special_tokens: vocabulary_lib.SpecialTokens = (
    vocabulary_lib.DEFAULT_SPECIAL_TOKENS
  ),
) -> tuple[np.ndarray, np.ndarray]:
  """Cuts one client's documents into chunks.

  Args:
    documents: The documents' tokens, int [tokens] each, without bos and eos. A
      document without tokens is bos and eos.
    sequence_length: The number of tokens per chunk.
    special_tokens: The ids of bos, eos and padding.

  Returns:
    (x, y), int32 [chunks, sequence_length]. Padding comes last.
  """
  errors.check_positive_integer('sequence_length', sequence_length)
  parts = []
  for document in documents:
    parts += [[special_tokens.bos], document, [special_tokens.eos]]
  stream = np.concatenate(parts).astype(np.int32) if parts else np.zeros(0)
  num_chunks = -(-max(0, len(stream) - 1) // sequence_length)
  size = num_chunks * sequence_length + 1
  padded = np.full(size, special_tokens.pad, np.int32)
  padded[: len(stream)] = stream
  labels = padded[1:].copy()
  labels[labels == special_tokens.bos] = special_tokens.pad
  shape = (num_chunks, sequence_length)
  return padded[:-1].reshape(shape), labels.reshape(shape)


def build_chunk_fn(
  vocabulary: vocabulary_lib.Vocabulary,
  *,
  sequence_length: int,
  feature: str = 'text',
) -> Callable[[examples_lib.Examples], examples_lib.Examples]:
  """Builds a function that turns a client's texts into chunks.

  Args:
    vocabulary: The vocabulary that turns texts into tokens.
    sequence_length: The number of tokens per chunk.
    feature: The name of the array of texts.

  Returns:
    A function for `PreprocessedClientData`, called when a client is read: from
    the arrays of its documents, of which `feature` names one of strings [n] in
    UTF-8, to (x, y) of `chunk_documents`, the examples of a language model.
  """
  errors.check_positive_integer('sequence_length', sequence_length)

  def chunk(examples: examples_lib.Examples) -> examples_lib.Examples:
    if not isinstance(examples, Mapping) or feature not in examples:
      raise errors.InputError(
        f'There must be an array {feature!r} of texts, got only '
        f'{", ".join(examples_lib.array_names(examples))}.'
      )
    return chunk_documents(
      map(vocabulary.encode, examples[feature]),
      sequence_length=sequence_length,
      special_tokens=vocabulary.special_tokens,
    )

  return chunk
