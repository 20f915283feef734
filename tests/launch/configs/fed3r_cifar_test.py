# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the configs of photographs' features, and of their sweeps."""

import collections
import itertools

from launch.configs import features
from launch.configs import fed3r_cifar
from launch.configs import sweeps

from absl.testing import parameterized


class ImageFeaturesTest(parameterized.TestCase):
  @parameterized.parameters(*features.VARIANTS)
  def test_only_what_trains_the_extractor_has_inputs_before_it(self, variant):
    for images in ('cifar10', 'cifar100'):
      task = fed3r_cifar.get_config(f'{variant},images={images}').task
      self.assertEqual(task.name, f'{images}_features')
      self.assertEqual(
        task.inputs,
        'fire8/expand'
        if 'fine_tuning=ft,' in variant or 'ft_feat' in variant
        else 'features',
      )

  def test_a_file_of_weights_can_be_named(self):
    """As --config.task.weights=name does."""
    config = fed3r_cifar.get_config('fed3r').lock()
    self.assertIsNone(config.task.weights)
    config.task.weights = 'other.npz'
    with self.assertRaises(TypeError):
      config.task.weights = 3

  def test_results_have_every_method_alpha_and_seed(self):
    found = collections.Counter(
      (
        run.variant,
        run.overrides.get('algorithm.num_random_features'),
        run.overrides['task.alpha'],
        run.overrides['seed'],
      )
      for run in fed3r_cifar.sweep('results')
    )
    expected = itertools.product(
      (
        ('fed3r', None),
        ('fed3r_rf', 1000),
        ('fed3r_rf', 5000),
        ('fed_ncm', None),
        (features.FT_LP, None),
      ),
      (0.0, 0.1, 10.0),
      sweeps.SEEDS,
    )
    self.assertEqual(
      found, {(*variant, *rest): 1 for variant, *rest in expected}
    )

  def test_what_tuning_has_chosen_was_tried(self):
    tried = collections.defaultdict(set)
    for run in fed3r_cifar.sweep('tuning'):
      self.assertEqual(run.overrides['task.alpha'], 0.1)
      self.assertNotIn('seed', run.overrides)
      tried[run.variant].add(run.overrides.get('client_learning_rate'))
    self.assertCountEqual(tried, ('fed3r_rf', features.FT_FEAT, features.FT))
    for name in ('fine_tuning', 'fine_tuning_tuned'):
      runs = fed3r_cifar.sweep(name)
      self.assertEqual({r.variant for r in runs}, tried.keys() - {'fed3r_rf'})
      self.assertLen(runs, 2 * 3 * len(sweeps.SEEDS))
    for run in runs:
      rate = run.overrides['client_learning_rate']
      self.assertIn(rate, tried[run.variant])

  @parameterized.parameters('', ',images=cifar100')
  def test_linear_runs_are_tuned_by_alpha_and_temperature(self, axes):
    cells = {}
    for name in ('linear', 'linear_tuning'):
      runs = fed3r_cifar.sweep(name + axes)
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
