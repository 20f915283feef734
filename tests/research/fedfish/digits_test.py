# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the sweeps of FedFish's gain, on digits and images."""

import collections

from launch.sweeps import plan as plan_lib
from research.fedfish import digits
from research.fedfish import images

from absl.testing import parameterized


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
