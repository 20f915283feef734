# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Vocabularies: from text to token ids and back, trained or from a file.

The work is done by the `tokenizers` library, and a vocabulary's file is that
library's JSON. What is added here: named special tokens that no text can
contain, training that gives the same file for the same texts, and clear errors.
"""

import collections
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import enum
import json
import os
import pathlib
from typing import NamedTuple

from fedfish_tff import errors

import numpy as np
import tokenizers
from tokenizers import decoders
from tokenizers import normalizers
from tokenizers import pre_tokenizers
from tokenizers import trainers

# In the order of their ids in vocabularies that are trained here; the first
# name is ours, the others are those of published files.
_SPECIAL_NAMES = {
  'pad': ('[PAD]', '<pad>'),
  'bos': ('[BOS]', '<s>', '[CLS]'),
  'eos': ('[EOS]', '</s>', '[SEP]'),
  'oov': ('[UNK]', '<unk>'),
}
_CONTINUING = '##'
# Of word pieces; text of the web has tens of thousands of rare characters.
_MOST_CHARACTERS = 1000
# What occurs once is no part of a language yet.
_MIN_PAIR_COUNT = 2


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


class VocabularyKind(enum.Enum):
  """How text becomes tokens.

  Attributes:
    BPE: Byte pairs (as GPT-2): every text can be written, no token is oov.
    WORD_PIECE: Word pieces (as BERT); oov are words of rare characters.
    WORD: The most frequent words between spaces, as TFF's Stack Overflow.
  """

  BPE = 'bpe'
  WORD_PIECE = 'word_piece'
  WORD = 'word'


class Vocabulary:
  """Turns text into token ids and back."""

  def __init__(self, tokenizer: tokenizers.Tokenizer) -> None:
    """Wraps a tokenizer, which must not be used elsewhere.

    Args:
      tokenizer: Of the `tokenizers` library, with the special tokens [PAD] (id
        0), [BOS], [EOS] and [UNK], or the names that BERT's and T5's files
        have for them.

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
  try:
    content = pathlib.Path(path).read_bytes()
  except OSError as error:
    raise errors.InputError(
      f'Cannot read the vocabulary {os.fspath(path)}: {error.strerror}.'
    ) from error
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


def train_vocabulary(
  texts: Iterable[str | bytes],
  *,
  kind: VocabularyKind,
  size: int,
  lowercase: bool = False,
) -> Vocabulary:
  """Trains a vocabulary; the same texts, in any order, give the same one.

  Args:
    texts: What to learn from. Word pieces go over them twice, so that it cannot
      be an iterator, which ends with its first pass; one text is in memory at
      a time.
    kind: How text becomes tokens.
    size: The number of token ids, special ones included; fewer if the texts
      do not hold as many.
    lowercase: Whether texts are put into lower case, at training and use.

  Returns:
    A vocabulary with the ids of `DEFAULT_SPECIAL_TOKENS`.

  Raises:
    errors.InputError: If there is no text, one is not valid, or `size` has no
      room for the special tokens and single characters.
  """
  if iter(texts) is texts:
    raise TypeError(
      'texts is an iterator; something to iterate over twice, such as a list, '
      'was expected.'
    )
  make = {
    VocabularyKind.BPE: _make_bpe,
    VocabularyKind.WORD_PIECE: _make_word_piece,
    VocabularyKind.WORD: _make_word,
  }[kind]
  tokenizer, trainer, least_size = make(texts, size, lowercase)
  if size < least_size:
    raise errors.InputError(
      f'A {kind.value} vocabulary of these texts has at least {least_size} '
      f'tokens, its characters and the special ones; a size of {size} was '
      'asked for.'
    )
  feed = _Feed(texts)
  try:
    tokenizer.train_from_iterator(feed, trainer)
  finally:
    # The library wraps what the texts raise, Ctrl-C included.
    feed.reraise()
  if not feed.num_texts:
    raise errors.InputError(
      'There is no text to train a vocabulary on; at least one was expected.'
    )
  if kind is VocabularyKind.WORD:
    _add_special_words(tokenizer, size)
  elif kind is VocabularyKind.WORD_PIECE:
    tokenizer = _with_few_special_tokens(tokenizer)
  return Vocabulary(tokenizer)


class _Feed(Iterator[str]):
  """Iterates over texts, counts them and remembers how they failed."""

  def __init__(self, texts: Iterable[str | bytes]) -> None:
    self._texts = iter(texts)
    self._error = None
    self.num_texts = 0

  def __next__(self) -> str:
    try:
      text = to_unicode(next(self._texts))
    except StopIteration:
      raise
    except BaseException as error:
      self._error = error
      raise
    self.num_texts += 1
    return text

  def reraise(self) -> None:
    """Raises what the texts raised, if they did."""
    if self._error is not None:
      raise self._error


def _special_names() -> list[str]:
  return [names[0] for names in _SPECIAL_NAMES.values()]


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


_Parts = tuple[tokenizers.Tokenizer, trainers.Trainer, int]


def _make_bpe(
  texts: Iterable[str | bytes], size: int, lowercase: bool
) -> _Parts:
  del texts  # Its alphabet are the 256 bytes.
  tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
  if lowercase:
    tokenizer.normalizer = normalizers.Lowercase()
  tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
  tokenizer.decoder = decoders.ByteLevel()
  alphabet = pre_tokenizers.ByteLevel.alphabet()
  trainer = trainers.BpeTrainer(
    vocab_size=size,
    min_frequency=_MIN_PAIR_COUNT,
    special_tokens=_special_names(),
    initial_alphabet=sorted(alphabet),
    show_progress=False,
  )
  return tokenizer, trainer, len(_SPECIAL_NAMES) + len(alphabet)


def _make_word_piece(
  texts: Iterable[str | bytes], size: int, lowercase: bool
) -> _Parts:
  oov = _SPECIAL_NAMES['oov'][0]
  tokenizer = tokenizers.Tokenizer(
    tokenizers.models.WordPiece(
      unk_token=oov, continuing_subword_prefix=_CONTINUING
    )
  )
  tokenizer.normalizer = normalizers.BertNormalizer(
    strip_accents=False, lowercase=lowercase
  )
  tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
  tokenizer.decoder = decoders.WordPiece(prefix=_CONTINUING)
  alphabet, inside = _word_piece_characters(texts, tokenizer)
  # The library numbers characters inside of words in the order of a hash that
  # differs between processes, and breaks ties by these numbers; given among
  # the special tokens, they have an order. Neither has it one for characters
  # that are equally rare, where only so many are kept.
  trainer = trainers.WordPieceTrainer(
    vocab_size=size,
    min_frequency=_MIN_PAIR_COUNT,
    special_tokens=[*_special_names(), *inside],
    initial_alphabet=alphabet,
    limit_alphabet=len(alphabet),
    continuing_subword_prefix=_CONTINUING,
    show_progress=False,
  )
  least_size = len(_SPECIAL_NAMES) + len(alphabet) + len(inside)
  return tokenizer, trainer, least_size


def _word_piece_characters(
  texts: Iterable[str | bytes], tokenizer: tokenizers.Tokenizer
) -> tuple[Sequence[str], Sequence[str]]:
  """Returns the most frequent characters, and pieces of those inside words."""
  raw = collections.Counter()
  for text in texts:
    raw.update(to_unicode(text))
  counts = collections.Counter()
  for character, count in raw.items():
    for normal in tokenizer.normalizer.normalize_str(character):
      counts[normal] += count * (not normal.isspace())
  ordered = sorted(+counts, key=lambda c: (-counts[c], c))
  kept = sorted(ordered[:_MOST_CHARACTERS])

  def is_in_words(character: str) -> bool:
    """Whether it is no punctuation, which is a word of its own."""
    return len(tokenizer.pre_tokenizer.pre_tokenize_str(f'a{character}')) == 1

  return kept, [_CONTINUING + c for c in kept if is_in_words(c)]


def _with_few_special_tokens(
  tokenizer: tokenizers.Tokenizer,
) -> tokenizers.Tokenizer:
  """Returns a tokenizer to which characters are not special any more."""
  description = json.loads(tokenizer.to_str())
  description['added_tokens'] = []
  tokenizer = tokenizers.Tokenizer.from_str(json.dumps(description))
  tokenizer.add_special_tokens(_special_names())
  return tokenizer


def _make_word(
  texts: Iterable[str | bytes], size: int, lowercase: bool
) -> _Parts:
  del texts
  tokenizer = tokenizers.Tokenizer(
    tokenizers.models.WordLevel(unk_token=_SPECIAL_NAMES['oov'][0])
  )
  if lowercase:
    tokenizer.normalizer = normalizers.Lowercase()
  tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
  # The special tokens come later (`_add_special_words`).
  trainer = trainers.WordLevelTrainer(vocab_size=size, show_progress=False)
  return tokenizer, trainer, len(_SPECIAL_NAMES) + 1


def _add_special_words(tokenizer: tokenizers.Tokenizer, size: int) -> None:
  """Puts the special tokens before the words.

  Where the library does so, a text with the word [PAD] moves them elsewhere.

  Args:
    tokenizer: With words alone.
    size: The number of tokens to keep.
  """
  names = _special_names()
  ids = tokenizer.get_vocab()
  words = [w for w in sorted(ids, key=ids.get) if w not in names]
  kept = [*names, *words][:size]
  tokenizer.model = tokenizers.models.WordLevel(
    {name: i for i, name in enumerate(kept)},
    unk_token=_SPECIAL_NAMES['oov'][0],
  )
  tokenizer.add_special_tokens(names)
