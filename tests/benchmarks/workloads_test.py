# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Workloads name networks and rows that there are."""

from benchmarks import rounds
from benchmarks import workloads

from absl.testing import absltest


class WorkloadsTest(absltest.TestCase):
  def test_names(self):
    networks = {w.network for w in workloads.WORKLOADS.values()}
    self.assertEqual(networks, set(rounds.NETWORKS))
    self.assertContainsSubset(
      {
        workloads.YARDSTICK,
        workloads.FIRST_ROUND_ROW,
        workloads.MEASURED_ONCE_ROW,
      },
      workloads.ROWS,
    )
