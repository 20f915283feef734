# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the sweeps over what clients send."""

from launch.configs import exchange

from absl.testing import absltest


class ExchangeTest(absltest.TestCase):
  def test_a_sweep_over_shares_has_all_sent_once(self):
    runs = exchange.share_sweep('v', seeds=(0,))
    settings = [tuple(run.overrides.values()) for run in runs]
    self.assertLen(set(settings), len(settings))
    self.assertLen(runs, 3 * (2 * 7 + 1))
    whole = [run for run in runs if run.overrides['exchange.share'] == 1]
    self.assertEqual([r.overrides['task.beta'] for r in whole], [1, 0.5, 0.25])
