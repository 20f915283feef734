# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rounds on one and two actors, and what more hosts come to on paper."""

from launch.benchmarks import scale_out
from tests.execution.ray import ray_test_case
from tests.launch import binary_runner

from absl.testing import absltest
from absl.testing import parameterized
import pytest

_CONSTANTS = scale_out.Constants(
  client_seconds=0.5,
  fixed_seconds=0.25,
  split_seconds=0.125,
  server_bytes=8.0,
  partial_bytes=4.0,
)


class RoundSecondsTest(parameterized.TestCase):
  @parameterized.parameters(
    # 100 clients one after the other.
    (1, 1, 1e30, [50.0, 0.0, 0.0, 0.125, 0.25]),
    # 34 of them on the busiest of 3 actors; 6 actors' sums take 24 seconds.
    (1, 3, 1.0, [17.0, 8.0, 12.0, 0.375, 0.25]),
    (2, 3, 1.0, [8.5, 16.0, 24.0, 0.75, 0.25]),
    # More actors than clients.
    (1000, 16, 1e30, [0.5, 0.0, 0.0, 12.5, 0.25]),
  )
  def test_by_hand(self, hosts, actors, link, expected):
    parts = scale_out.round_seconds(
      _CONSTANTS, hosts=hosts, actors=actors, clients=100, link=link
    )
    for found, part in zip(parts.values(), expected, strict=True):
      self.assertAlmostEqual(found, part)


class ScaleOutTest(ray_test_case.TestCase):
  @pytest.mark.slow
  def test_tables(self):
    outcome = binary_runner.run_here(
      'launch.benchmarks.scale_out',
      '--cases=softmax_1000',
      '--clients=6',
      '--repeats=1',
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    self.assertRegex(outcome.stdout, r'\nsoftmax_1000( +\d+\.\d+){7}\n')
    self.assertRegex(outcome.stdout, r'\n1000 +\d+ +0\.\d+ +\w')


if __name__ == '__main__':
  absltest.main()
