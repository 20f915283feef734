# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the style of the layouts."""

from launch.plots import paper_style

from absl.testing import absltest
from absl.testing import parameterized


class EpochStylesTest(absltest.TestCase):
  def test_the_most_epochs_have_the_solid_line(self):
    lines = paper_style.epoch_lines([16, 1, 8, 1])
    self.assertEqual(list(lines), [1, 8, 16])
    self.assertEqual(lines[16], '-')
    self.assertLen(set(map(str, lines.values())), 3)
    self.assertEqual(paper_style.epoch_lines([5]), {5: '-'})

  def test_markers_differ(self):
    self.assertLen(set(paper_style.epoch_markers(range(1, 9)).values()), 8)


class WordsTest(parameterized.TestCase):
  @parameterized.parameters(
    (['a'], 'a'), (['a', 'b'], 'a and b'), (['a', 'b', 3], 'a, b and 3')
  )
  def test_join(self, words, expected):
    self.assertEqual(paper_style.join_words(words), expected)

  def test_counts_of_seeds(self):
    self.assertEqual(paper_style.seeds_phrase([1, 1]), '1 seed')
    self.assertEqual(paper_style.seeds_phrase([3, 2]), '2 to 3 seeds')

  def test_tasks_are_named_where_they_differ(self):
    self.assertEqual(paper_style.per_task({'a': 8, 'b': 8}), '8')
    self.assertEqual(
      paper_style.per_task({'a': 8, 'b': 16}), '8 (a) and 16 (b)'
    )


if __name__ == '__main__':
  absltest.main()
