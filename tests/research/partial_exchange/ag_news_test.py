# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the sweeps over shares on AG News."""

import collections

from launch.sweeps import plan as plan_lib
from research.partial_exchange import ag_news

from absl.testing import parameterized


class AgNewsSweepsTest(parameterized.TestCase):
  @parameterized.parameters(
    ('linear', 135),
    ('linear_levels', 45),
    ('linear_client_keeps', 45),
    ('cnn', 135),
    ('cnn_client_keeps', 135),
    ('roberta', 15),
    ('roberta_bytes', 12),
    ('roberta_heterogeneous', 15),
    ('roberta_client_keeps', 30),
    ('memo', 72),
  )
  def test_sweeps(self, name, size):
    runs = ag_news.sweep(name)
    self.assertLen(runs, size)
    planned = plan_lib.plan_runs('ag_news.py', ag_news.get_config, runs)
    # Each share, and all sent once, with every seed in every panel.
    points = collections.Counter(
      (
        run.config.values['task']['beta'],
        run.config.values['exchange']['direction'],
        run.config.values['exchange']['selection'],
        run.config.values['exchange']['share'],
      )
      for run in planned
    )
    self.assertLen(set(points.values()), 1)
    whole = [point for point in points if point[-1] == 1]
    self.assertLen(whole, len({beta for beta, *_ in points}))
