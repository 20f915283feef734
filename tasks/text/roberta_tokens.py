# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""RoBERTa's tokens: byte pairs, learned from texts or read from a checkpoint.

The work is done by the `tokenizers` library.
"""

from collections.abc import Sequence
import pathlib

from fedfish_tff import datasets
from fedfish_tff import errors

import numpy as np
import tokenizers
from tokenizers import decoders
from tokenizers import pre_tokenizers
from tokenizers import processors
from tokenizers import trainers

# RoBERTa's model uses this id for padding, whatever a checkpoint says.
PADDING = 1
_BEGIN, _PAD, _END = '<s>', '<pad>', '</s>'
# In the order of RoBERTa's ids, except that published files have <mask> last.
_SPECIAL_TOKENS = (_BEGIN, _PAD, _END, '<unk>', '<mask>')
NUM_SPECIAL = len(_SPECIAL_TOKENS)
MASK = NUM_SPECIAL - 1
# A pair that occurs only once says nothing about the language.
_MIN_PAIR_COUNT = 2


class RobertaTokens:
  """A tokenizer of texts into token ids of one length."""

  def __init__(
    self, tokenizer: tokenizers.Tokenizer, *, sequence_length: int, source: str
  ) -> None:
    """Wraps a tokenizer, which must not be used elsewhere.

    Args:
      tokenizer: A tokenizer of the `tokenizers` library, with RoBERTa's special
        tokens.
      sequence_length: The number of tokens per text, at least 3, including
        those that begin and end it.
      source: The origin of the tokenizer, for error messages.
    """
    ids = {token: tokenizer.token_to_id(token) for token in (_BEGIN, _END)}
    padding = tokenizer.token_to_id(_PAD)
    if padding != PADDING or None in ids.values():
      found = ', '.join(f'{t} {i}' for t, i in {**ids, _PAD: padding}.items())
      raise errors.InputError(
        f"The tokens of {source} must have RoBERTa's {_BEGIN}, {_END} and "
        f'{_PAD}, the last with the id {PADDING}, got the ids {found}.'
      )
    tokenizer.post_processor = processors.RobertaProcessing(
      sep=(_END, ids[_END]), cls=(_BEGIN, ids[_BEGIN])
    )
    tokenizer.enable_truncation(sequence_length)
    tokenizer.enable_padding(
      length=sequence_length, pad_id=PADDING, pad_token=_PAD
    )
    # The characters </s> in a text are no end token.
    tokenizer.encode_special_tokens = True
    self._tokenizer = tokenizer
    self._sequence_length = sequence_length

  @property
  def size(self) -> int:
    """The number of token ids, special ones included."""
    return max(self._tokenizer.get_vocab().values()) + 1

  def to_json(self) -> str:
    """Returns the text of a tokenizer.json, for `load_roberta_tokens`."""
    return self._tokenizer.to_str()

  def encode(self, texts: Sequence[str | bytes]) -> np.ndarray:
    """Returns the tokens of texts, int32 [texts, sequence_length].

    Args:
      texts: The texts, strings or bytes of UTF-8. Long ones are truncated
        before the end token; short ones are padded.
    """
    tokens = np.empty([len(texts), self._sequence_length], np.int32)
    # One by one, because batches start threads, and the library warns of these
    # when a process forks.
    for row, text in zip(tokens, texts, strict=True):
      row[:] = self._tokenizer.encode(datasets.to_unicode(text)).ids
    return tokens


def train_roberta_tokens(
  texts: Sequence[str | bytes], *, vocabulary_size: int, sequence_length: int
) -> RobertaTokens:
  """Learns byte pairs; the order of the texts does not matter.

  Args:
    texts: The training texts, at least one.
    vocabulary_size: The number of token ids, with room for the special ones and
      all bytes; fewer if the texts do not hold as many.
    sequence_length: The number of tokens per text, at least 3.
  """
  alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
  least = len(_SPECIAL_TOKENS) + len(alphabet)
  if vocabulary_size < least:
    raise errors.InputError(
      f'vocabulary_size of RoBERTa must be at least {least}, all bytes and the '
      f'special tokens, got {vocabulary_size}.'
    )
  if not len(texts):
    raise errors.InputError(
      'There must be at least one text to train a vocabulary on, got none.'
    )
  tokenizer = _with_bytes(tokenizers.Tokenizer(tokenizers.models.BPE()))
  tokenizer.train_from_iterator(
    # Decoded here, because the library would wrap errors.
    [datasets.to_unicode(text) for text in texts],
    trainers.BpeTrainer(
      vocab_size=vocabulary_size,
      min_frequency=_MIN_PAIR_COUNT,
      special_tokens=list(_SPECIAL_TOKENS),
      initial_alphabet=alphabet,
      show_progress=False,
    ),
  )
  return RobertaTokens(
    tokenizer, sequence_length=sequence_length, source='the texts'
  )


def load_roberta_tokens(
  folder: pathlib.Path, *, sequence_length: int
) -> RobertaTokens:
  """Reads the tokenizer of a checkpoint.

  Args:
    folder: The folder with tokenizer.json, or vocab.json and merges.txt.
    sequence_length: The number of tokens per text, at least 3.
  """
  whole = folder / 'tokenizer.json'
  parts = [folder / 'vocab.json', folder / 'merges.txt']
  if not whole.is_file() and not all(part.is_file() for part in parts):
    raise errors.InputError(
      f'The checkpoint {folder} must have tokens, tokenizer.json, or '
      'vocab.json and merges.txt, got none.'
    )
  try:
    if whole.is_file():
      tokenizer = tokenizers.Tokenizer.from_str(whole.read_text('utf-8'))
    else:
      model = tokenizers.models.BPE.from_file(*map(str, parts))
      tokenizer = _with_bytes(tokenizers.Tokenizer(model))
      known = tokenizer.get_vocab()
      tokenizer.add_special_tokens([t for t in _SPECIAL_TOKENS if t in known])
  except Exception as error:  # The library raises nothing more specific.
    raise errors.InputError(
      f'The tokens of {folder} cannot be read ({errors.first_line(error)}).'
    ) from error
  return RobertaTokens(
    tokenizer, sequence_length=sequence_length, source=str(folder)
  )


def _with_bytes(tokenizer: tokenizers.Tokenizer) -> tokenizers.Tokenizer:
  """Returns the tokenizer for bytes, with spaces in tokens as in GPT-2."""
  tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
  tokenizer.decoder = decoders.ByteLevel()
  return tokenizer
