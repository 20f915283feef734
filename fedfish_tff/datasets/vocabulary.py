# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Vocabularies, which turn text into token ids and back.

The `tokenizers` library does the work, and a vocabulary's file is that
library's JSON. This module adds named special tokens that no text can contain,
and clear errors. `vocabulary_training` creates vocabularies.
"""

from collections.abc import Iterable
import os
from typing import NamedTuple

from fedfish_tff import errors
from fedfish_tff import regular_files

import numpy as np
import tokenizers

# This package's names of the special tokens first, then those of published
# files.
_SPECIAL_NAMES = {
  'pad': ('[PAD]', '<pad>'),
  'bos': ('[BOS]', '<s>', '[CLS]'),
  'eos': ('[EOS]', '</s>', '[SEP]'),
  'oov': ('[UNK]', '<unk>'),
}
# In the order of their ids in vocabularies trained by this package.
SPECIAL_TOKEN_NAMES = tuple(names[0] for names in _SPECIAL_NAMES.values())


class SpecialTokens(NamedTuple):
  """The ids of the special tokens.

  Attributes:
    pad: The padding of chunks; as a label it counts in no loss and no metric.
    bos: The beginning of each document.
    eos: The end of each document.
    oov: The replacement of everything that is not in the vocabulary.
  """

  pad: int = 0
  bos: int = 1
  eos: int = 2
  oov: int = 3


# The ids in vocabularies trained by this package.
DEFAULT_SPECIAL_TOKENS = SpecialTokens()


class Vocabulary:
  """Turns text into token ids and back."""

  def __init__(self, tokenizer: tokenizers.Tokenizer) -> None:
    """Wraps a tokenizer, which must not be used elsewhere.

    Args:
      tokenizer: A tokenizer of the `tokenizers` library, with the special
        tokens [PAD] (id 0), [BOS], [EOS] and [UNK], or the names that BERT's
        and ALBERT's files use for them.
    """
    ids = tokenizer.get_vocab()
    self._special_tokens = _find_special_tokens(ids)
    self._size = max(ids.values()) + 1
    # The ends of documents and the padding of chunks are added elsewhere.
    tokenizer.no_padding()
    tokenizer.no_truncation()
    # The text '[EOS]' does not become the special token.
    tokenizer.encode_special_tokens = True
    self._tokenizer = tokenizer

  @property
  def size(self) -> int:
    """The number of token ids, special ones included."""
    return self._size

  @property
  def special_tokens(self) -> SpecialTokens:
    """The ids of the special tokens."""
    return self._special_tokens

  def encode(self, text: str | bytes) -> np.ndarray:
    """Returns the tokens of a text, without bos and eos.

    Args:
      text: A text; bytes are UTF-8.

    Returns:
      The ids, int32 [tokens], none of them pad, bos or eos.
    """
    encoding = self._tokenizer.encode(
      to_unicode(text), add_special_tokens=False
    )
    ids = np.array(encoding.ids, np.int32)
    special = self._special_tokens
    # A word-level vocabulary may find its own [EOS] among the words of a text.
    ids[np.isin(ids, special[:3])] = special.oov
    return ids

  def decode(self, ids: Iterable[int]) -> str:
    """Returns the text of token ids, without special tokens."""
    return self._tokenizer.decode(list(map(int, ids)), skip_special_tokens=True)

  def to_json(self) -> str:
    """Returns the content of a file for `load_vocabulary`."""
    return self._tokenizer.to_str(pretty=True) + '\n'


def create_character_vocabulary(characters: str) -> Vocabulary:
  """Creates a vocabulary of single characters.

  Args:
    characters: The characters, each once. Others are oov.

  Returns:
    A vocabulary with the ids of `DEFAULT_SPECIAL_TOKENS`, followed by the
    characters in their order.
  """
  names = [*SPECIAL_TOKEN_NAMES, *characters]
  tokenizer = tokenizers.Tokenizer(
    tokenizers.models.WordLevel(
      {name: i for i, name in enumerate(names)},
      unk_token=SPECIAL_TOKEN_NAMES[DEFAULT_SPECIAL_TOKENS.oov],
    )
  )
  # The pattern matches any character, also a new line.
  tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split(
    tokenizers.Regex(r'[\s\S]'), 'isolated'
  )
  tokenizer.decoder = tokenizers.decoders.Fuse()
  tokenizer.add_special_tokens(list(SPECIAL_TOKEN_NAMES))
  return Vocabulary(tokenizer)


def to_unicode(text: str | bytes) -> str:
  """Returns a text as a string that can be written as UTF-8.

  Args:
    text: A string without lone surrogates, which JSON allows, or bytes of
      UTF-8.
  """
  try:
    if isinstance(text, bytes):
      return text.decode()
    text.encode()
    return text
  except UnicodeDecodeError as error:
    raise errors.InputError(
      f'A text must be valid UTF-8, got one of {len(text)} bytes that is not '
      f'at byte {error.start}.'
    ) from None
  except UnicodeEncodeError as error:
    raise errors.InputError(
      f'A text must be valid Unicode, got one of {len(text)} characters with '
      f'half a surrogate pair at character {error.start}.'
    ) from None


def load_vocabulary(path: str | os.PathLike[str]) -> Vocabulary:
  """Reads a vocabulary.

  Args:
    path: A file written by launch.train_tokenizer, or another JSON file of the
      `tokenizers` library with special tokens that `Vocabulary` knows.
  """
  content = regular_files.read_bytes(path)
  try:
    tokenizer = tokenizers.Tokenizer.from_str(content.decode())
  except Exception as error:  # The library raises nothing more specific.
    raise errors.InputError(
      f'{os.fspath(path)} must be a vocabulary, a file of '
      'launch.train_tokenizer or of the tokenizers library: '
      f'{errors.first_line(error)}.'
    ) from error
  try:
    return Vocabulary(tokenizer)
  except errors.InputError as error:
    raise errors.InputError(f'{os.fspath(path)}: {error}') from error


def _find_special_tokens(ids: dict[str, int]) -> SpecialTokens:
  """Returns the ids of the special tokens of a vocabulary."""
  found = {}
  for role, names in _SPECIAL_NAMES.items():
    present = [ids[name] for name in names if name in ids]
    if not present:
      raise errors.InputError(
        f'The vocabulary must have a special token for {role}, one of '
        f'{", ".join(names)}, got none.'
      )
    found[role] = present[0]
  if found['pad'] != 0:
    raise errors.InputError(
      f'The id of padding must be 0 in a vocabulary, got {found["pad"]}.'
    )
  return SpecialTokens(**found)
