# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Vocabularies: from text to token ids and back, as a file says.

The work is done by the `tokenizers` library, and a vocabulary's file is that
library's JSON. What is added here: named special tokens that no text can
contain, and clear errors. `vocabulary_training` makes vocabularies.
"""

from collections.abc import Iterable
import os
from typing import NamedTuple

from fedfish_tff import errors
from fedfish_tff import regular_files

import numpy as np
import tokenizers

# Our names of the special tokens first, then those of published files.
_SPECIAL_NAMES = {
  'pad': ('[PAD]', '<pad>'),
  'bos': ('[BOS]', '<s>', '[CLS]'),
  'eos': ('[EOS]', '</s>', '[SEP]'),
  'oov': ('[UNK]', '<unk>'),
}
# In the order of their ids in vocabularies that are trained here.
SPECIAL_TOKEN_NAMES = tuple(names[0] for names in _SPECIAL_NAMES.values())


class SpecialTokens(NamedTuple):
  """Ids with a meaning of their own.

  Attributes:
    pad: Fills up chunks; as a label it counts in no loss and no metric.
    bos: Begins each document.
    eos: Ends each document.
    oov: Stands for what is not in the vocabulary.
  """

  pad: int = 0
  bos: int = 1
  eos: int = 2
  oov: int = 3


# Of vocabularies that are trained here.
DEFAULT_SPECIAL_TOKENS = SpecialTokens()


class Vocabulary:
  """Turns text into token ids and back."""

  def __init__(self, tokenizer: tokenizers.Tokenizer) -> None:
    """Wraps a tokenizer, which must not be used elsewhere.

    Args:
      tokenizer: Of the `tokenizers` library, with the special tokens [PAD] (id
        0), [BOS], [EOS] and [UNK], or the names that BERT's and ALBERT's
        files have for them.

    Raises:
      errors.InputError: If a special token is missing or padding is not id 0.
    """
    ids = tokenizer.get_vocab()
    self._special_tokens = _find_special_tokens(ids)
    self._size = max(ids.values()) + 1
    # Documents get their ends, and chunks their padding, elsewhere.
    tokenizer.no_padding()
    tokenizer.no_truncation()
    # A text that says [EOS] does not end.
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
    """Returns the tokens of a text, without those that begin and end it.

    Args:
      text: A text; bytes are UTF-8.

    Returns:
      int32 [tokens]; none of them is pad, bos or eos.

    Raises:
      errors.InputError: If it is no valid text.
    """
    encoding = self._tokenizer.encode(
      to_unicode(text), add_special_tokens=False
    )
    ids = np.array(encoding.ids, np.int32)
    special = self._special_tokens
    # A word-level vocabulary finds its own [EOS] among the words of a text.
    ids[np.isin(ids, special[:3])] = special.oov
    return ids

  def decode(self, ids: Iterable[int]) -> str:
    """Returns the text of token ids, special tokens left out."""
    return self._tokenizer.decode(list(map(int, ids)), skip_special_tokens=True)

  def to_json(self) -> str:
    """Returns the content of a file for `load_vocabulary`."""
    return self._tokenizer.to_str(pretty=True) + '\n'


def create_character_vocabulary(characters: str) -> Vocabulary:
  """Creates a vocabulary of single characters.

  Args:
    characters: Each once. Others are oov.

  Returns:
    A vocabulary with the ids of `DEFAULT_SPECIAL_TOKENS`, and then the characters
    in their order.
  """
  names = [*SPECIAL_TOKEN_NAMES, *characters]
  tokenizer = tokenizers.Tokenizer(
    tokenizers.models.WordLevel(
      {name: i for i, name in enumerate(names)},
      unk_token=SPECIAL_TOKEN_NAMES[DEFAULT_SPECIAL_TOKENS.oov],
    )
  )
  # The pattern of any character, a new line too.
  tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split(
    tokenizers.Regex(r'[\s\S]'), 'isolated'
  )
  tokenizer.decoder = tokenizers.decoders.Fuse()
  tokenizer.add_special_tokens(list(SPECIAL_TOKEN_NAMES))
  return Vocabulary(tokenizer)


def to_unicode(text: str | bytes) -> str:
  """Returns a text as a string that can be written as UTF-8.

  Args:
    text: A string, or bytes of UTF-8.

  Raises:
    errors.InputError: If bytes are no UTF-8, or a string has lone surrogates,
      as JSON can spell them.
  """
  try:
    if isinstance(text, bytes):
      return text.decode()
    text.encode()
    return text
  except UnicodeDecodeError as error:
    raise errors.InputError(
      f'A text of {len(text)} bytes is no UTF-8 at byte {error.start}; valid '
      'UTF-8 was expected.'
    ) from None
  except UnicodeEncodeError as error:
    raise errors.InputError(
      f'A text of {len(text)} characters has half a surrogate pair at character '
      f'{error.start}; valid Unicode was expected.'
    ) from None


def load_vocabulary(path: str | os.PathLike[str]) -> Vocabulary:
  """Reads a vocabulary.

  Args:
    path: A file that launch.train_tokenizer wrote, or another JSON file of the
      `tokenizers` library with special tokens that `Vocabulary` knows.

  Raises:
    errors.InputError: If it cannot be read or is no such file.
  """
  content = regular_files.read_bytes(path)
  try:
    tokenizer = tokenizers.Tokenizer.from_str(content.decode())
  except Exception as error:  # The library raises nothing more specific.
    reason = (str(error).splitlines() or [''])[0]
    raise errors.InputError(
      f'{os.fspath(path)} is no vocabulary: {reason}; a file of '
      'launch.train_tokenizer or of the tokenizers library was expected.'
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
        f'The vocabulary has no special token for {role}; one of '
        f'{", ".join(names)} was expected.'
      )
    found[role] = present[0]
  if found['pad'] != 0:
    raise errors.InputError(
      f'The id of padding is {found["pad"]} in this vocabulary; 0 was expected.'
    )
  return SpecialTokens(**found)
