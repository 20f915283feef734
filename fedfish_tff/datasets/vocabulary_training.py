# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Vocabularies learned from texts; the same texts give the same file.

The `tokenizers` library does the training. Where its result would depend on
hashes that differ between processes, this module gives it an order.
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
# The maximum for word pieces; web text has tens of thousands of rare
# characters.
_MOST_CHARACTERS = 1000
# A pair that occurs once is not worth a token.
_MIN_PAIR_COUNT = 2


class VocabularyKind(enum.Enum):
  """The way text becomes tokens.

  Attributes:
    BPE: Byte pairs (as in GPT-2). Every text can be encoded, so no token is
      oov.
    WORD_PIECE: Word pieces (as in BERT). Words with rare characters are oov.
    WORD: The most frequent words between spaces, as in TFF's Stack Overflow.
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
    texts: The training texts. Word pieces need two passes over them, so they
      must not be an iterator, which ends after its first pass. One text is in
      memory at a time.
    kind: The way text becomes tokens.
    size: The number of token ids, special ones included; fewer if the texts do
      not contain as many. There must be room for the special tokens and single
      characters.
    lowercase: Whether texts are converted to lower case, at training and use.

  Returns:
    A vocabulary with the ids of `vocabulary.DEFAULT_SPECIAL_TOKENS`.
  """
  if iter(texts) is texts:
    raise TypeError(
      'texts must be something to iterate over twice, such as a list, got an '
      'iterator.'
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
    # The library wraps the exceptions of texts, Ctrl-C included.
    feed.reraise()
  if not feed.num_texts:
    raise errors.InputError(
      'There must be at least one text to train a vocabulary on, got none.'
    )
  if kind is VocabularyKind.WORD:
    _add_special_words(tokenizer, size)
  elif kind is VocabularyKind.WORD_PIECE:
    tokenizer = _with_few_special_tokens(tokenizer)
  return vocabulary_lib.Vocabulary(tokenizer)


class _Feed(Iterator[str]):
  """Iterates over texts, counts them and stores their exception."""

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
    """Raises the texts' exception, if any."""
    if self._error is not None:
      raise self._error


_Parts = tuple[tokenizers.Tokenizer, trainers.Trainer, int]


def _make_bpe(
  texts: Iterable[str | bytes], size: int, lowercase: bool
) -> _Parts:
  del texts  # The alphabet is the 256 bytes.
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
  # The library numbers characters inside words in the order of a hash that
  # differs between processes, and breaks ties by these numbers. As special
  # tokens they have a fixed order. It has no order either for equally rare
  # characters, of which only some are kept.
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
    """Returns whether it is part of a word; punctuation is its own word."""
    return len(tokenizer.pre_tokenizer.pre_tokenize_str(f'a{character}')) == 1

  return kept, [_CONTINUING + c for c in kept if is_in_words(c)]


def _with_few_special_tokens(
  tokenizer: tokenizers.Tokenizer,
) -> tokenizers.Tokenizer:
  """Returns a tokenizer without characters among its special tokens."""
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
  # The special tokens are added later (`_add_special_words`).
  trainer = trainers.WordLevelTrainer(vocab_size=size, show_progress=False)
  return tokenizer, trainer, len(vocabulary_lib.SPECIAL_TOKEN_NAMES) + 1


def _add_special_words(tokenizer: tokenizers.Tokenizer, size: int) -> None:
  """Puts the special tokens before the words.

  If the library did so, a text with the word [PAD] would move them elsewhere.
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
