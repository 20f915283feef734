# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the sweeps of Fed3R on CIFAR."""

import collections

from launch.configs import features
from launch.configs import sweeps
from launch.sweeps import plan as plan_lib
from research.fed3r import cifar

from absl.testing import parameterized


class CifarTest(parameterized.TestCase):
  @parameterized.parameters(
    'tuning', 'results', 'linear', 'linear_tuning', 'fine_tuning'
  )
  def test_sweeps_can_be_run(self, sweep):
    runs = cifar.sweep(sweep)
    planned = plan_lib.plan_runs(f'cifar.py:{sweep}', cifar.get_config, runs)
    self.assertLen({run.name for run in planned}, len(runs))

  def test_what_tuning_has_chosen_was_tried(self):
    tried = collections.defaultdict(set)
    for run in cifar.sweep('tuning'):
      self.assertEqual(run.overrides['task.alpha'], 0.1)
      self.assertNotIn('seed', run.overrides)
      tried[run.variant].add(run.overrides.get('client_learning_rate'))
    self.assertCountEqual(tried, ('fed3r_rf', features.FT_FEAT, features.FT))
    for name in ('fine_tuning', 'fine_tuning_tuned'):
      runs = cifar.sweep(name)
      self.assertEqual({r.variant for r in runs}, tried.keys() - {'fed3r_rf'})
      self.assertLen(runs, 2 * 3 * len(sweeps.SEEDS))
    for run in runs:
      rate = run.overrides['client_learning_rate']
      self.assertIn(rate, tried[run.variant])

  @parameterized.parameters('', ',images=cifar100')
  def test_linear_runs_are_tuned_by_alpha_and_temperature(self, axes):
    cells = {}
    for name in ('linear', 'linear_tuning'):
      runs = cifar.sweep(name + axes)
      cells[name] = {
        (
          run.variant,
          run.overrides['task.alpha'],
          run.overrides.get('fine_tuning.temperature'),
        )
        for run in runs
      }
      seeds = {run.overrides['seed'] for run in runs}
      self.assertEqual(seeds & {*sweeps.SEEDS} == seeds, name == 'linear')
    self.assertEqual(cells['linear'], cells['linear_tuning'])
    self.assertLen(cells['linear'], 3 * (1 + 4))
