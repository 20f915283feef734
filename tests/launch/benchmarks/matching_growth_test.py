# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where the time of matching goes."""

from launch.benchmarks import matching_growth

from absl.testing import absltest


class MatchingGrowthTest(absltest.TestCase):
  def test_parts_are_within_the_whole(self):
    timing = matching_growth.measure(16, 3, inputs=40)
    self.assertGreater(timing.scores, 0)
    self.assertGreater(timing.assignment, 0)
    self.assertLess(timing.scores + timing.assignment, timing.seconds)
    self.assertBetween(timing.server_units, 16, 32)
