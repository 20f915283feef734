# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the lists of runs for sweeps."""

import collections
import itertools
import math

from launch.configs import digits
from launch.configs import features
from launch.configs import fed3r_digits
from launch.configs import fedfish_images
from launch.configs import sweeps
from launch.sweeps import plan as plan_lib

from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st


def _digits(name):
  return digits.sweep(name)


class SweepsTest(parameterized.TestCase):
  def test_a_grid_has_every_combination_once(self):
    runs = sweeps.grid(
      ['fed_avg', 'fed_fish'],
      {'seed': (0, 1), 'batch_size': (5, 10, 20)},
      fixed={'rounds': 7},
    )
    found = [
      (r.variant, r.overrides['seed'], r.overrides['batch_size']) for r in runs
    ]
    expected = itertools.product(['fed_avg', 'fed_fish'], (0, 1), (5, 10, 20))
    self.assertEqual(found, list(expected))
    self.assertEqual({run.overrides['rounds'] for run in runs}, {7})

  @parameterized.parameters(
    ('fed_avg', ['client_learning_rate']),
    ('fed_avg,server=sgdm', ['client_learning_rate']),
    ('fed_avg,server=adam', ['client_learning_rate', 'server_learning_rate']),
    ('fed_async', ['client_learning_rate']),
    ('fed_sgd', ['server_learning_rate']),
  )
  def test_tuning_varies_the_rates_that_a_method_leaves_open(
    self, variant, rates
  ):
    ready = sweeps.ready_sweeps(digits.get_config, methods=[variant])
    config = digits.get_config(variant)
    for name, values in (
      ('learning_rates', dict.fromkeys(rates, sweeps.LEARNING_RATES)),
      ('tuning', {r: sweeps.rates_around(config[r]) for r in rates}),
    ):
      runs = [run.overrides for run in ready[name]()]
      for rate in ('client_learning_rate', 'server_learning_rate'):
        found = {run.get(rate) for run in runs}
        self.assertEqual(found, set(values.get(rate, [None])), (name, rate))

  def test_fixed_compute_has_equally_many_local_epochs(self):
    runs = sweeps.fixed_compute(
      ['fed_avg', 'fed_fish'], total_local_epochs=64, evaluations=4
    )
    self.assertLen(runs, 2 * 3 * 3)
    for run in runs:
      rounds, every = run.overrides['rounds'], run.overrides['evaluate_every']
      self.assertEqual(rounds * run.overrides['local_epochs'], 64)
      self.assertEqual(rounds // every, 4)
    self.assertEqual([r.variant for r in runs[:9]], ['fed_avg'] * 9)
    with self.assertRaisesRegex(ValueError, 'no whole number of rounds of 8'):
      sweeps.fixed_compute(
        ['fed_avg'], total_local_epochs=12, evaluations=4, local_epochs=(8,)
      )

  @parameterized.parameters(
    (1e-3, (5e-4, 1e-3, 5e-3)),
    (1e-2, (5e-3, 1e-2, 5e-2)),
    (0.05, (0.01, 0.05, 0.1)),
    # Beyond the paper's grid, for plain server steps.
    (1.0, (0.5, 1.0, 5.0)),
    # Not of the series: the nearest, by ratio.
    (0.03, (0.01, 0.05, 0.1)),
    (0.8, (0.5, 1.0, 5.0)),
  )
  def test_rates_around(self, rate, expected):
    self.assertEqual(sweeps.rates_around(rate), expected)

  def test_the_papers_grid_is_of_that_series(self):
    rates = sweeps.LEARNING_RATES
    for around in zip(rates, rates[1:], rates[2:]):
      self.assertEqual(sweeps.rates_around(around[1]), around)
    self.assertEqual((rates[0], rates[-1]), (1e-4, 0.1))

  @parameterized.parameters(0, min(sweeps.TUNING_SEEDS) + 1)
  def test_a_comparison_has_other_seeds_than_its_tuning(self, seeds):
    get_config = digits.get_config
    for valid in (1, min(sweeps.TUNING_SEEDS)):
      found = sweeps.compare(get_config, ['fed_avg'], seeds=valid)
      self.assertLen(found.runs, valid)
    with self.assertRaisesRegex(ValueError, f'seeds must be .*got {seeds}'):
      sweeps.compare(get_config, ['fed_avg'], seeds=seeds)

  @parameterized.parameters(
    ({'seeds': 2, 'fields': {'seed': (5, 6)}}, 'of seed must be given once'),
    ({'tuned': {'seed': (5, 6)}}, 'of seed must be given once'),
    (
      {'fields': {'batch_size': (4, 8)}, 'tuned': {'batch_size': (4, 8)}},
      'got batch_size of fed_avg for both',
    ),
    # FedSGD tunes this in place of the clients' rate.
    (
      {
        'fields': {'server_learning_rate': (1.0, 0.5)},
        'tuned': {'client_learning_rate': (0.1, 0.2)},
      },
      'got server_learning_rate of fed_sgd for both',
    ),
  )
  def test_a_field_of_a_comparison_has_one_part(self, options, message):
    with self.assertRaisesRegex(ValueError, message):
      sweeps.compare(digits.get_config, ['fed_avg', 'fed_sgd'], **options)

  @hypothesis.given(st.floats(1e-6, 1e3))
  def test_rates_around_any(self, rate):
    rates = sweeps.rates_around(rate)
    self.assertLen(set(rates), 3)
    self.assertEqual(list(rates), sorted(rates))
    middle = rates[1]
    # Half of the largest gap of the series, 5, and some rounding.
    self.assertLess(abs(math.log(middle / rate)), math.log(5) / 2 + 1e-9)

  @parameterized.parameters(True, False)
  def test_sweeps_of_features_set_no_rounds(self, has_extractor):
    """Else they may end before all clients were visited."""
    ready = features.ready_sweeps(
      fed3r_digits.get_config, has_extractor=has_extractor
    )
    runs = [run for make in ready.values() for run in make()]
    self.assertFalse(any('rounds' in run.overrides for run in runs))
    self.assertEqual(
      any(features.trains_extractor(run.variant) for run in runs), has_extractor
    )

  def test_fixed_compute_has_the_total_of_most_local_epochs(self):
    rounds = digits.get_config().rounds
    for run in _digits('fixed_compute'):
      self.assertEqual(
        run.overrides['rounds'] * run.overrides['local_epochs'], rounds * 16
      )
    for run in _digits('tuning'):
      self.assertEqual(run.overrides['rounds'], rounds // 4)
      self.assertEqual(run.overrides['seed'], 0)

  def test_fixed_compute_is_tuned_on_a_quarter_of_its_rounds(self):
    tuning = _digits('fixed_compute_tuning')
    rounds = digits.get_config().rounds
    pairs = collections.Counter()
    for run in tuning:
      self.assertEqual(
        run.overrides['rounds'] * run.overrides['local_epochs'],
        rounds // 4 * 16,
      )
      self.assertEqual(run.overrides['seed'], 0)
      pairs[run.variant, run.overrides['local_epochs']] += 1
    self.assertEqual(
      pairs, {(v, e): 3 for v in sweeps.METHODS for e in sweeps.LOCAL_EPOCHS}
    )
    self.assertLen({repr(run) for run in tuning}, len(tuning))

  @parameterized.parameters(
    (fedfish_images, 'fixed_rounds,size=compact'), (digits, 'seeds,size=tpu')
  )
  def test_axes_are_those_of_all_runs(self, module, sweep):
    runs = module.sweep(sweep)
    planned = plan_lib.plan_runs(sweep, module.get_config, runs)
    axis = sweep.partition(',')[2]
    self.assertTrue(all(run.variant.endswith(axis) for run in runs))
    sized = module.get_config(f'fed_avg,{axis}')
    self.assertEqual(
      {r.config.values['batch_size'] for r in planned}, {sized.batch_size}
    )

  def test_variants_of_one_config_run_once(self):
    variants = ('fed_avg', 'fed_avg,server=sgd', 'fed_avg,server=adam')
    ready = sweeps.ready_sweeps(digits.get_config, variants=variants)
    runs = ready['variants']()
    self.assertEqual(
      [*dict.fromkeys(run.variant for run in runs)], [variants[0], variants[2]]
    )

  def test_a_comparison_tunes_each_method_by_other_seeds(self):
    rates = (0.1, 0.5)
    made = sweeps.choice(
      digits.get_config,
      lambda get_config: {
        'rates': lambda: sweeps.compare(
          get_config,
          ['fed_avg', 'fed_sgd'],
          seeds=2,
          fields={'batch_size': (5, 10)},
          tuned={'client_learning_rate': rates},
        )
      },
    )
    self.assertEqual(made.names(), ('rates',))
    found = made('rates,size=tpu')
    pairs = {
      field: {
        (run.variant, run.overrides[field])
        for run in found.tuning
        if field in run.overrides
      }
      for field in found.tuned
    }
    self.assertEqual(
      pairs,
      {
        'client_learning_rate': {('fed_avg,size=tpu', r) for r in rates},
        # Its clients do not step.
        'server_learning_rate': {('fed_sgd,size=tpu', r) for r in rates},
      },
    )
    self.assertLen(found.tuning, 2 * 2 * 2 * len(sweeps.TUNING_SEEDS))
    self.assertLen(found.runs, 2 * 2 * 2)
    self.assertNoCommonElements(
      *({r.overrides['seed'] for r in of} for of in (found.runs, found.tuning))
    )
    self.assertEmpty(
      set(found.tuned).intersection(*(r.overrides for r in found.runs))
    )

  def test_unknown_sweeps_are_listed(self):
    with self.assertRaisesRegex(ValueError, "sweep.*seeds, variants.*'sees'"):
      _digits('sees')
