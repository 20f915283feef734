# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""From a client's texts to chunks of tokens for a language model.

A document is bos, its tokens, eos. A client's documents stand behind one
another and are cut into chunks of one length: x, and y, which is x one token
ahead. So every token but the first is predicted once, those at the cuts too;
documents of different clients never meet.

Which documents follow each other says nothing about language: that a document
begins is given and not predicted. Labels that are bos are padding, and padding
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
  drop_remainder: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
  """Cuts one client's documents into chunks.

  Args:
    documents: int [tokens] each, without bos and eos. A document without
      tokens is bos and eos.
    sequence_length: Tokens a chunk.
    special_tokens: The ids of bos, eos and padding.
    drop_remainder: Whether the last chunk is left out where it is not full, as
      Dataset Grouper's language models do, instead of padded. Clients with
      less than one chunk then have none.

  Returns:
    (x, y), int32 [chunks, sequence_length]. Padding comes last.

  Raises:
    errors.InputError: If `sequence_length` is not a positive integer.
  """
  errors.check_positive_integer('sequence_length', sequence_length)
  parts = []
  for document in documents:
    parts += [[special_tokens.bos], document, [special_tokens.eos]]
  stream = np.concatenate(parts).astype(np.int32) if parts else np.zeros(0)
  num_labels = max(0, len(stream) - 1)
  num_chunks = num_labels // sequence_length
  if not drop_remainder and num_labels % sequence_length:
    num_chunks += 1
  size = num_chunks * sequence_length + 1
  padded = np.full(size, special_tokens.pad, np.int32)
  used = stream[:size]
  padded[: len(used)] = used
  labels = padded[1:].copy()
  labels[labels == special_tokens.bos] = special_tokens.pad
  shape = (num_chunks, sequence_length)
  return padded[:-1].reshape(shape), labels.reshape(shape)


def build_chunk_fn(
  vocabulary: vocabulary_lib.Vocabulary,
  *,
  sequence_length: int,
  feature: str = 'text',
  drop_remainder: bool = False,
) -> Callable[[examples_lib.Examples], examples_lib.Examples]:
  """Builds what turns a client's texts into chunks, when the client is read.

  Args:
    vocabulary: Turns texts into tokens.
    sequence_length: Tokens a chunk.
    feature: The name of the array of texts.
    drop_remainder: As in `chunk_documents`.

  Returns:
    A function for `PreprocessedClientData`: from the arrays of a client's
    documents, of which one is called `feature` and holds strings [n], to
    (x, y) of `chunk_documents`, for the examples of a language model.

  Raises:
    errors.InputError: If `sequence_length` is not a positive integer. The
      function raises it where there is no such array or a text is not UTF-8.
  """
  errors.check_positive_integer('sequence_length', sequence_length)

  def chunk(examples: examples_lib.Examples) -> examples_lib.Examples:
    if not isinstance(examples, Mapping) or feature not in examples:
      raise errors.InputError(
        f'There is no array {feature!r} but '
        f'{", ".join(examples_lib.array_names(examples))}; one of texts was '
        'expected.'
      )
    return chunk_documents(
      map(vocabulary.encode, examples[feature]),
      sequence_length=sequence_length,
      special_tokens=vocabulary.special_tokens,
      drop_remainder=drop_remainder,
    )

  return chunk
