# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Workloads and rows are such as there are."""

from launch.benchmarks import rounds
from launch.benchmarks import workloads

from absl.testing import absltest


class WorkloadsTest(absltest.TestCase):
  def test_names(self):
    networks = {w.network for w in workloads.WORKLOADS.values()}
    self.assertEqual(networks, set(rounds.NETWORKS))
    self.assertEqual(next(iter(workloads.ROWS)), workloads.YARDSTICK)
    self.assertContainsSubset(
      (workloads.FIRST_ROUND_ROW, workloads.MEASURED_ONCE_ROW), workloads.ROWS
    )
