# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Synthetic web pages by domain, for trials without a corpus.

Domains have topics of their own and sizes by a power law, as on the web. A
language model can learn in part which words follow each other. The pages serve
as a demonstration and say nothing about real text.
"""

from collections.abc import Iterator
import dataclasses
import functools

from fedfish_tff import datasets
from fedfish_tff import errors

import numpy as np

_CONSONANTS = 'bcdfghjklmnprstvwz'
_VOWELS = 'aeiou'
# The number of words that all topics share, like articles and prepositions.
_NUM_COMMON_WORDS = 40
_COMMON_SHARE = 0.35
# The number of words that often follow a given word, and the share of words
# that are such successors.
_NUM_SUCCESSORS = 4
_SUCCESSOR_SHARE = 0.6
_SENTENCE_WORDS = (5, 18)
_PAGE_SENTENCES = (3, 12)
# The exponents of Zipf's law for words, and of the law for pages per domain.
_ZIPF_EXPONENT = 1.0
_PARETO_EXPONENT = 1.2


@dataclasses.dataclass(frozen=True, kw_only=True)
class PageGenerator:
  """A generator of domains' pages, functions of the seed and the domain.

  Attributes:
    num_domains: The number of domains.
    num_words: The number of different words.
    num_topics: The number of topics; every domain has a few.
    max_pages: The largest number of pages per domain.
    seed: The seed of the language and the pages.
    prefix: The start of the domains' names; another prefix gives other domains
      and pages in the same language.
  """

  num_domains: int
  num_words: int = 1000
  num_topics: int = 20
  max_pages: int = 64
  seed: int = 0
  prefix: str = 'site'

  def __post_init__(self) -> None:
    for name, lowest in (
      ('num_domains', 1),
      ('num_words', 2 * _NUM_COMMON_WORDS),
      ('num_topics', 1),
      ('max_pages', 1),
    ):
      errors.check_integer(
        f'{name} of generated pages', getattr(self, name), least=lowest
      )

  def domain_names(self) -> list[str]:
    """Returns the domains' names, such as site00042.example."""
    width = max(5, len(str(self.num_domains - 1)))
    return [
      f'{self.prefix}{n:0{width}d}.example' for n in range(self.num_domains)
    ]

  def pages(self, domain: str) -> list[str]:
    """Returns the texts of a domain's pages, at least one."""
    generator = datasets.random_generator('pages', self.seed, domain)
    topics = generator.dirichlet(np.full(self.num_topics, 3 / self.num_topics))
    num_pages = int(
      min(self.max_pages, np.ceil(generator.pareto(_PARETO_EXPONENT) + 1e-9))
    )
    return [
      self._page(generator, generator.choice(self.num_topics, p=topics))
      for _ in range(max(1, num_pages))
    ]

  def words(self) -> Iterator[str]:
    """Yields all words of the language, the most common first."""
    yield from self._language.words

  @functools.cached_property
  def _language(self) -> '_Language':
    return _make_language(self.num_words, self.num_topics, self.seed)

  def _page(self, generator: np.random.Generator, topic: int) -> str:
    low, high = _PAGE_SENTENCES
    return ' '.join(
      self._sentence(generator, topic)
      for _ in range(generator.integers(low, high + 1))
    )

  def _sentence(self, generator: np.random.Generator, topic: int) -> str:
    language = self._language
    low, high = _SENTENCE_WORDS
    length = int(generator.integers(low, high + 1))
    # Drawn all at once, because one draw per word would take most of the time.
    anew = np.searchsorted(
      language.cumulative[topic], generator.random(length), side='right'
    )
    follows = generator.random(length) < _SUCCESSOR_SHARE
    which = generator.integers(_NUM_SUCCESSORS, size=length)
    numbers = [int(anew[0])]
    for n in range(1, length):
      numbers.append(
        int(language.successors[numbers[-1], which[n]])
        if follows[n]
        else int(anew[n])
      )
    text = ' '.join(language.words[n] for n in numbers)
    return f'{text[0].upper()}{text[1:]}.'


@dataclasses.dataclass(frozen=True)
class _Language:
  """Words, their probabilities and their successors.

  Attributes:
    words: The words, in the order of the arrays below.
    cumulative: The cumulative probabilities of words for each topic, [topics,
      words].
    successors: The words that often follow each word, [words, successors].
  """

  words: tuple[str, ...]
  cumulative: np.ndarray
  successors: np.ndarray


def _make_language(num_words: int, num_topics: int, seed: int) -> _Language:
  generator = datasets.random_generator('language', seed)
  weights = np.arange(1, num_words + 1) ** -_ZIPF_EXPONENT
  common = np.zeros(num_words)
  common[:_NUM_COMMON_WORDS] = weights[:_NUM_COMMON_WORDS]
  common /= common.sum()
  cumulative = np.empty([num_topics, num_words])
  own = num_words - _NUM_COMMON_WORDS
  for topic in range(num_topics):
    # Every topic has its own order of the words that are not common.
    special = np.zeros(num_words)
    special[_NUM_COMMON_WORDS + generator.permutation(own)] = weights[:own]
    mixed = (
      _COMMON_SHARE * common + (1 - _COMMON_SHARE) * special / special.sum()
    )
    cumulative[topic] = np.cumsum(mixed / mixed.sum())
  # Rounding may leave the last sum below 1, hence a word past the last one.
  cumulative[:, -1] = 1.0
  return _Language(
    words=_make_words(generator, num_words),
    cumulative=cumulative,
    successors=generator.integers(num_words, size=[num_words, _NUM_SUCCESSORS]),
  )


def _make_words(generator: np.random.Generator, count: int) -> tuple[str, ...]:
  """Returns different words of one syllable or more, the shortest first."""
  words: dict[str, None] = {}
  of_one_length = len(_CONSONANTS) * len(_VOWELS)
  syllables = 1
  while len(words) < count:
    # Random draws of words of one length slow down before these run out.
    if len(words) > 0.5 * of_one_length**syllables:
      syllables += 1
    letters = (
      _CONSONANTS[generator.integers(len(_CONSONANTS))]
      + _VOWELS[generator.integers(len(_VOWELS))]
      for _ in range(syllables)
    )
    words.setdefault(''.join(letters))
  return tuple(words)
