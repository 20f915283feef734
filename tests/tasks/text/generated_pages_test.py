# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Synthetic pages: repeatable, different between domains, of sizes by a power law."""

import collections

from fedfish_tff import errors
from tasks.text import generated_pages

from absl.testing import parameterized
import numpy as np


def _words(pages):
  return ' '.join(pages).lower().replace('.', '').split()


class PageGeneratorTest(parameterized.TestCase):
  def test_a_domain_is_a_function_of_seed_and_name(self):
    one, again, more, other = (
      generated_pages.PageGenerator(num_domains=n, seed=seed)
      for n, seed in ((5, 0), (5, 0), (9, 0), (5, 1))
    )
    for domain in one.domain_names():
      self.assertEqual(one.pages(domain), again.pages(domain))
      self.assertEqual(one.pages(domain), more.pages(domain))
      self.assertNotEqual(one.pages(domain), other.pages(domain))

  def test_another_prefix_makes_other_pages_in_one_language(self):
    one, other = (
      generated_pages.PageGenerator(num_domains=3, prefix=prefix)
      for prefix in ('site', 'news')
    )
    self.assertEqual(list(one.words()), list(other.words()))
    self.assertEqual(other.domain_names()[0], 'news00000.example')
    for a, b in zip(one.domain_names(), other.domain_names()):
      self.assertNotEqual(one.pages(a), other.pages(b))

  def test_names_are_sorted_and_unique(self):
    names = generated_pages.PageGenerator(num_domains=1200).domain_names()
    self.assertLen(set(names), 1200)
    self.assertEqual(names, sorted(names))
    self.assertEqual(names[42], 'site00042.example')

  def test_sizes_follow_a_power_law(self):
    pages = generated_pages.PageGenerator(num_domains=600)
    sizes = [len(pages.pages(domain)) for domain in pages.domain_names()]
    self.assertEqual(min(sizes), 1)
    self.assertLessEqual(max(sizes), 64)
    self.assertLess(np.median(sizes), 3)
    self.assertGreater(max(sizes), 20 * np.median(sizes))

  def test_domains_differ_more_than_pages_of_one(self):
    pages = generated_pages.PageGenerator(num_domains=200)
    large = [
      d for d in pages.domain_names() if len(_words(pages.pages(d))) > 1500
    ]
    self.assertGreater(len(large), 3)

    def frequencies(words):
      counts = collections.Counter(words)
      return np.array([counts[w] for w in pages.words()]) / len(words)

    halves = []
    for domain in large:
      texts = pages.pages(domain)
      halves.append(
        [frequencies(_words(texts[::2])), frequencies(_words(texts[1::2]))]
      )
    within = [np.abs(a - b).sum() for a, b in halves]
    between = [
      np.abs(a[0] - b[1]).sum()
      for i, a in enumerate(halves)
      for j, b in enumerate(halves)
      if i != j
    ]
    self.assertLess(np.mean(within), np.mean(between))

  def test_the_word_before_tells_about_the_next(self):
    pages = generated_pages.PageGenerator(num_domains=300)
    unigrams, bigrams = collections.Counter(), collections.Counter()
    for domain in pages.domain_names():
      for sentence in ' '.join(pages.pages(domain)).lower().split('. '):
        words = sentence.replace('.', '').split()
        unigrams.update(words[1:])
        bigrams.update(zip(words, words[1:]))
    total = sum(unigrams.values())
    alone = -sum(n / total * np.log(n / total) for n in unigrams.values())
    before = collections.Counter()
    for (first, _), n in bigrams.items():
      before[first] += n
    given = -sum(
      n / total * np.log(n / before[first]) for (first, _), n in bigrams.items()
    )
    # Nats a word; a model that reads one word learns at least so much.
    self.assertLess(given, alone - 1)

  def test_words_are_unique_and_as_many_as_asked_for(self):
    pages = generated_pages.PageGenerator(num_domains=1, num_words=3000)
    words = list(pages.words())
    self.assertLen(set(words), 3000)
    for word in words:
      self.assertTrue(word.isalpha() and word.islower(), word)

  @parameterized.parameters(
    dict(num_domains=0),
    dict(num_domains=3, num_words=79),
    dict(num_domains=3, num_topics=0),
    dict(num_domains=3, max_pages='many'),
  )
  def test_bad_options_are_named(self, **options):
    with self.assertRaisesRegex(errors.InputError, list(options)[-1]):
      generated_pages.PageGenerator(**options)
