# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Vocabularies learned from texts; the same texts give the same file.

The `tokenizers` library learns. Where what it does depends on hashes that
differ between processes, it is told an order here.
"""

import collections
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import enum
import json

from fedfish_tff import errors
from fedfish_tff.datasets import vocabulary as vocabulary_lib

import tokenizers
from tokenizers import decoders
from tokenizers import normalizers
from tokenizers import pre_tokenizers
from tokenizers import trainers

_OOV = vocabulary_lib.SPECIAL_TOKEN_NAMES[
  vocabulary_lib.DEFAULT_SPECIAL_TOKENS.oov
]
_CONTINUING = '##'
# Of word pieces; text of the web has tens of thousands of rare characters.
_MOST_CHARACTERS = 1000
# What occurs once is no part of a language yet.
_MIN_PAIR_COUNT = 2


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


def train_vocabulary(
  texts: Iterable[str | bytes],
  *,
  kind: VocabularyKind,
  size: int,
  lowercase: bool = False,
) -> vocabulary_lib.Vocabulary:
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
    A vocabulary with the ids of `vocabulary.DEFAULT_SPECIAL_TOKENS`.

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
  return vocabulary_lib.Vocabulary(tokenizer)


class _Feed(Iterator[str]):
  """Iterates over texts, counts them and remembers how they failed."""

  def __init__(self, texts: Iterable[str | bytes]) -> None:
    self._texts = iter(texts)
    self._error = None
    self.num_texts = 0

  def __next__(self) -> str:
    try:
      text = vocabulary_lib.to_unicode(next(self._texts))
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
    special_tokens=list(vocabulary_lib.SPECIAL_TOKEN_NAMES),
    initial_alphabet=sorted(alphabet),
    show_progress=False,
  )
  return (
    tokenizer,
    trainer,
    len(vocabulary_lib.SPECIAL_TOKEN_NAMES) + len(alphabet),
  )


def _make_word_piece(
  texts: Iterable[str | bytes], size: int, lowercase: bool
) -> _Parts:
  tokenizer = tokenizers.Tokenizer(
    tokenizers.models.WordPiece(
      unk_token=_OOV, continuing_subword_prefix=_CONTINUING
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
    special_tokens=[*vocabulary_lib.SPECIAL_TOKEN_NAMES, *inside],
    initial_alphabet=alphabet,
    limit_alphabet=len(alphabet),
    continuing_subword_prefix=_CONTINUING,
    show_progress=False,
  )
  least_size = (
    len(vocabulary_lib.SPECIAL_TOKEN_NAMES) + len(alphabet) + len(inside)
  )
  return tokenizer, trainer, least_size


def _word_piece_characters(
  texts: Iterable[str | bytes], tokenizer: tokenizers.Tokenizer
) -> tuple[Sequence[str], Sequence[str]]:
  """Returns the most frequent characters, and pieces of those inside words."""
  raw = collections.Counter()
  for text in texts:
    raw.update(vocabulary_lib.to_unicode(text))
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
  tokenizer.add_special_tokens(list(vocabulary_lib.SPECIAL_TOKEN_NAMES))
  return tokenizer


def _make_word(
  texts: Iterable[str | bytes], size: int, lowercase: bool
) -> _Parts:
  del texts
  tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(unk_token=_OOV))
  if lowercase:
    tokenizer.normalizer = normalizers.Lowercase()
  tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
  # The special tokens come later (`_add_special_words`).
  trainer = trainers.WordLevelTrainer(vocab_size=size, show_progress=False)
  return tokenizer, trainer, len(vocabulary_lib.SPECIAL_TOKEN_NAMES) + 1


def _add_special_words(tokenizer: tokenizers.Tokenizer, size: int) -> None:
  """Puts the special tokens before the words.

  Where the library does so, a text with the word [PAD] moves them elsewhere.

  Args:
    tokenizer: With words alone.
    size: The number of tokens to keep.
  """
  names = list(vocabulary_lib.SPECIAL_TOKEN_NAMES)
  ids = tokenizer.get_vocab()
  words = [w for w in sorted(ids, key=ids.get) if w not in names]
  kept = [*names, *words][:size]
  tokenizer.model = tokenizers.models.WordLevel(
    {name: i for i, name in enumerate(kept)},
    unk_token=_OOV,
  )
  tokenizer.add_special_tokens(names)
