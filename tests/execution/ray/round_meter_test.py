# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for round_meter."""

from fedfish_tff.execution.ray import ray_cluster
from fedfish_tff.execution.ray import round_meter
from tests.execution.ray import ray_test_case


class RoundMeterTest(ray_test_case.TestCase):
  def test_counts_from_one_call_to_the_next(self):
    meter = round_meter.RoundMeter(ray_cluster.import_ray(is_local=True))
    self.assertEmpty(meter.take())
    meter.add_sent(100)
    meter.add_share(0, round_meter.ShareCost('here', 3, 0.5, 2000), 10)
    meter.add_share(1, round_meter.ShareCost('here', 4, 0.0, 1000), 5)
    columns = dict(meter.take())
    self.assertGreater(columns.pop('time/clients_per_second'), 0)
    self.assertEqual(
      columns,
      {
        'time/sent_bytes': 100,
        'time/received_bytes': 15,
        'time/most_actor_bytes': 2000,
      },
    )
    self.assertEmpty(meter.take())
