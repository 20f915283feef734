# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of FedFish's lists of experiments."""

import collections

from launch import json_config
from launch.sweeps import plan as plan_lib
from research.fedfish import c4
from research.fedfish import digits
from research.fedfish import images

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


class SurfacesTest(parameterized.TestCase):
  @parameterized.parameters(
    (digits, '', 15),
    (images, ',size=results', 9),
    (images, ',images=cifar100,size=results', 9),
  )
  def test_surfaces_are_tuned_cell_by_cell_with_other_seeds(
    self, module, axes, cells
  ):
    seeds = {}
    for sweep in ('surface', 'surface_tuning'):
      planned = plan_lib.plan_runs(
        f'{module.__name__}:{sweep}{axes}',
        module.get_config,
        module.sweep(f'{sweep}{axes}'),
      )
      cell = ('task.alpha', 'local_epochs')
      found = collections.Counter(
        (run.variant, *(run.fields[field] for field in cell)) for run in planned
      )
      variants = {run.variant for run in planned}
      self.assertContainsSubset(
        {f'fed_avg{axes}', f'diagnosed{axes}'}, variants
      )
      self.assertLen(found, cells * len(variants))
      # Ten seeds, or five rates with two.
      self.assertEqual(set(found.values()), {10})
      seeds[sweep] = {run.fields['seed'] for run in planned}
    self.assertEmpty(seeds['surface'] & seeds['surface_tuning'])


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
