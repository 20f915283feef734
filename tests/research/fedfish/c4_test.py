# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the sweeps of FedFish on text."""

from launch.sweeps import plan as plan_lib
from research.fedfish import c4

from absl.testing import parameterized


class C4Test(parameterized.TestCase):
  @parameterized.parameters('', ',corpus=cc_news')
  def test_fixed_compute_has_equally_many_local_epochs(self, corpus):
    axes = f'{corpus},size=results'
    runs = c4.sweep(f'fixed_compute{axes}')
    planned = plan_lib.plan_runs('c4.py', c4.get_config, runs)
    self.assertEqual({run.fields['local_epochs'] for run in planned}, {1, 16})
    self.assertEqual(
      {run.config.rounds * run.config.local_epochs for run in planned},
      {c4.get_config(f'fed_avg{axes}').rounds * 16},
    )
