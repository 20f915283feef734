# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the sweeps of FedFish on images."""

from launch import json_config
from launch.sweeps import plan as plan_lib
from research.fedfish import images

from absl.testing import parameterized


class ImagesTest(parameterized.TestCase):
  @parameterized.parameters('emnist', 'cifar100')
  def test_deciding_settings_change_one_thing_at_a_time(self, name):
    sweep = f'settings,images={name},size=results'
    planned = plan_lib.plan_runs(sweep, images.get_config, images.sweep(sweep))
    first = [run for run in planned if run.fields['seed'] == 0]
    self.assertLen(planned, 3 * len(first))
    configs = [json_config.flatten(run.config.values) for run in first]

    def differing(a, b):
      return {f for f in a.keys() & b.keys() if a[f] != b[f]}

    fed_avg, fed_fish, damped, *rest = configs
    self.assertEqual(
      differing(fed_fish, damped),
      {'algorithm.damping', 'algorithm.fisher_normalization'},
    )
    server = {
      'algorithm.server_optimizer',
      'server_learning_rate',
      *images.TFF_ADAM,
    }
    for plain, pair in ((fed_avg, rest[0::2]), (fed_fish, rest[1::2])):
      self.assertEqual(differing(plain, pair[0]), {'client_learning_rate'})
      self.assertEqual(differing(plain, pair[1]), server)

  def test_claims_are_tuned_at_full_length_with_other_seeds(self):
    claims, tuning = (
      images.sweep(f'{name},size=results')
      for name in ('claims', 'claims_tuning')
    )
    for run in (*claims, *tuning):
      self.assertEqual(run.overrides['local_epochs'], 16)
      self.assertNotIn('rounds', run.overrides)
    seeds = [{run.overrides['seed'] for run in of} for of in (claims, tuning)]
    self.assertEqual(seeds, [set(range(10, 18)), {100, 101}])
    # Three variants; eight seeds, or eight pairs of rates with two.
    self.assertLen(claims, 3 * 8)
    self.assertLen(tuning, 3 * 8 * 2)
