# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the style of the layouts."""

from launch.plots import paper_style

from absl.testing import absltest


class EpochStylesTest(absltest.TestCase):
  def test_the_most_epochs_have_the_solid_line(self):
    lines = paper_style.epoch_lines([16, 1, 8, 1])
    self.assertEqual(list(lines), [1, 8, 16])
    self.assertEqual(lines[16], '-')
    self.assertLen(set(map(str, lines.values())), 3)
    self.assertEqual(paper_style.epoch_lines([5]), {5: '-'})

  def test_markers_differ(self):
    self.assertLen(set(paper_style.epoch_markers(range(1, 9)).values()), 8)


class CountSeedsTest(absltest.TestCase):
  def test_settings_may_have_other_seeds(self):
    self.assertEqual(paper_style.count_seeds([1, 1]), '1 seed')
    self.assertEqual(paper_style.count_seeds([3, 2]), '2 to 3 seeds')


if __name__ == '__main__':
  absltest.main()
