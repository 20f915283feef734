# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the configs of photographs' features, and of their sweeps."""

import collections

from launch.configs import features
from launch.configs import fed3r_cifar
from launch.configs import sweeps

from absl.testing import parameterized

_RATES = {
  'fed_avg,fine_tuning=ft_lp': 0.5,
  'fed_avg,fine_tuning=ft_lp,start=fed3r': 0.25,
  'fed_avg,fine_tuning=ft_feat,start=fed3r': 0.125,
  'fed_avg,fine_tuning=ft,start=fed3r': 0.0625,
}


def _sweep(name):
  made = fed3r_cifar.feature_sweeps(
    fed3r_cifar.get_config, learning_rates=_RATES
  )
  return made[name]()


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
    runs = _sweep('results')
    found = collections.Counter(
      (
        run.variant,
        run.overrides.get('algorithm.num_random_features'),
        run.overrides['task.alpha'],
        run.overrides['seed'],
      )
      for run in runs
    )
    self.assertEqual(
      found,
      {
        # Fine-tuning at the published rate, and at that of tuning.
        (variant, size, alpha, seed): 2
        if variant == 'fed_avg,fine_tuning=ft_lp,start=fed3r'
        else 1
        for variant, size in (
          ('fed3r', None),
          ('fed3r_rf', 1000),
          ('fed3r_rf', 5000),
          ('fed_ncm', None),
          ('fed_avg,fine_tuning=ft_lp', None),
          ('fed_avg,fine_tuning=ft_lp,start=fed3r', None),
        )
        for alpha in (0.0, 0.1, 10.0)
        for seed in sweeps.SEEDS
      },
    )
    self.assertLen({repr(run) for run in runs}, len(runs))

  def test_what_tuning_has_chosen_is_used(self):
    rates = collections.defaultdict(set)
    for run in (*_sweep('results'), *_sweep('fine_tuning_tuned')):
      rates[run.variant].add(run.overrides.get('client_learning_rate'))
      if run.variant == 'fed3r_rf':
        self.assertEqual(run.overrides['algorithm.regularization'], 0.1)
    for variant, rate in _RATES.items():
      # The published rate is the config's.
      published = (
        {None} if variant == 'fed_avg,fine_tuning=ft_lp,start=fed3r' else set()
      )
      self.assertEqual(rates[variant], {rate} | published)

  @parameterized.parameters('fine_tuning', 'fine_tuning_tuned')
  def test_the_extractor_is_trained_apart(self, name):
    runs = _sweep(name)
    self.assertEqual(
      {r.variant for r in runs},
      {
        'fed_avg,fine_tuning=ft,start=fed3r',
        'fed_avg,fine_tuning=ft_feat,start=fed3r',
      },
    )
    self.assertLen(runs, 2 * 3 * len(sweeps.SEEDS))

  @parameterized.parameters('', ',images=cifar100')
  def test_tuning_is_of_one_seed_and_alpha(self, axes):
    tried = collections.defaultdict(set)
    for run in fed3r_cifar.sweep(f'tuning{axes}'):
      self.assertEqual(run.overrides['task.alpha'], 0.1)
      self.assertNotIn('seed', run.overrides)
      variant = run.variant.removesuffix(axes)
      tried[variant].add(run.overrides.get('client_learning_rate'))
    self.assertCountEqual(tried, ('fed3r_rf', *_RATES))
    # What was chosen is among them.
    for run in (
      *fed3r_cifar.sweep(f'results{axes}'),
      *fed3r_cifar.sweep(f'fine_tuning_tuned{axes}'),
    ):
      rate = run.overrides.get('client_learning_rate')
      if rate is not None:
        self.assertIn(rate, tried[run.variant.removesuffix(axes)])
