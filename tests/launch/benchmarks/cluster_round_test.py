# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A round on paper against sums by hand."""

from launch.benchmarks import cluster_round

from absl.testing import parameterized

_CONSTANTS = cluster_round.Constants(
  client_seconds=0.5,
  fixed_seconds=0.25,
  split_seconds=0.125,
  server_bytes=8.0,
  partial_bytes=4.0,
)


class RoundSecondsTest(parameterized.TestCase):
  @parameterized.parameters(
    # 100 clients one after the other.
    (1, 1, 1, 1e30, [50.0, 0.0, 0.0, 0.125, 0.25]),
    # 34 of them on the busiest of 3 cores; 6 actors' sums take 24 seconds.
    (1, 3, 3, 1.0, [17.0, 8.0, 12.0, 0.375, 0.25]),
    (2, 3, 3, 1.0, [8.5, 16.0, 24.0, 0.75, 0.25]),
    (2, 3, 1, 1.0, [8.5, 16.0, 8.0, 0.25, 0.25]),
    # More cores than clients.
    (1000, 16, 16, 1e30, [0.5, 0.0, 0.0, 12.5, 0.25]),
  )
  def test_by_hand(self, hosts, cores, actors, link, expected):
    parts = cluster_round.round_seconds(
      _CONSTANTS,
      hosts=hosts,
      cores=cores,
      actors=actors,
      clients=100,
      link=link,
    )
    for found, part in zip(parts.values(), expected, strict=True):
      self.assertAlmostEqual(found, part)
