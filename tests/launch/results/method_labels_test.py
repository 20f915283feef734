# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the names of methods."""

from launch import json_config
from launch.configs import base
from launch.configs import fed3r_digits
from launch.configs import sweeps
from launch.results import method_labels
from launch.runs import run_label
from tests.launch.results import fake_runs

from absl.testing import absltest
import hypothesis
import hypothesis.strategies as st
import pandas as pd


def _runs(configs):
  return pd.DataFrame(
    {
      'config': config,
      'fields': json_config.flatten(config),
      'task': config['task']['name'],
      **run_label.describe_method(fake_runs.as_config(config)),
    }
    for config in configs
  )


def _label(*configs, **kwargs):
  return method_labels.label_methods(_runs(configs), **kwargs)


def _variant(name, *, local_epochs=1, **fields):
  config = base.create_config(
    name,
    client_learning_rate=0.05,
    server_learning_rate=0.03,
    local_epochs=local_epochs,
    task={'name': 'digits'},
  )
  config.update(fields)
  return config.to_dict()


class LabelMethodsTest(absltest.TestCase):
  def test_the_usual_value_is_not_told(self):
    self.assertEqual(
      _label(
        fake_runs.make_config('fed_avg'),
        fake_runs.make_config('fed_fish', damping=0.0),
        fake_runs.make_config('fed_fish', damping=0.1),
      ),
      ['FedAvg', 'FedFish', 'FedFish, damping 0.1'],
    )

  def test_who_takes_part_is_told_by_its_title(self):
    variants = ('uniform', 'srpfl', 'flanp')
    self.assertEqual(
      _label(*(_variant(f'fed_avg,participation={v}') for v in variants)),
      ['FedAvg', 'FedAvg, SRPFL', 'FedAvg, FLANP'],
    )
    one, other = (_variant('fed_avg,participation=srpfl') for _ in range(2))
    other['participation']['n0'] = 4
    self.assertEqual(_label(one, other), ['FedAvg, n0 2', 'FedAvg, n0 4'])

  def test_privacy_makes_another_method(self):
    one = _variant('fed_avg,privacy=gaussian')
    plain = _variant('fed_avg')
    plain['algorithm']['client_weighting'] = 'uniform'
    self.assertEqual(_label(plain, one), ['FedAvg', 'DP-FedAvg'])

  def test_rules_and_bits_make_other_methods(self):
    variants = ('median', 'clipped', 'clipped,compression=quantized')
    configs = [_variant(f'fed_avg,aggregation={v}') for v in variants]
    for config in configs:
      config['algorithm']['client_weighting'] = 'uniform'
    self.assertEqual(
      _label(*configs),
      ['Median FedAvg', 'Clipped FedAvg', 'Quantised Clipped FedAvg'],
    )

  def test_tasks(self):
    self.assertEqual(
      _label(
        fake_runs.make_config(), fake_runs.make_config(task='toy_regression')
      ),
      ['FedAvg, digits', 'FedAvg, toy_regression'],
    )

  def test_estimators_and_damping_are_told_even_if_they_do_not_differ(self):
    self.assertEqual(
      _label(_variant('fed_avg'), _variant('per_example')),
      ['FedAvg', 'FedFish, per example'],
    )
    self.assertEqual(_label(_variant('damped')), ['FedFish, damping 0.0001'])

  def test_estimators_have_short_labels(self):
    variants = ('fed_fish', 'per_example', 'sampled_label', 'damped')
    self.assertEqual(
      _label(*map(_variant, variants)),
      [
        'FedFish',
        'FedFish, per example',
        'FedFish, sampled label',
        'FedFish, damping 0.0001',
      ],
    )

  def test_every_server_optimizer_is_told_where_they_differ(self):
    # The plain server has another rate, which the optimizer settles.
    self.assertEqual(
      _label(_variant('fed_avg'), _variant('fed_avg,server=sgd')),
      ['FedAvg, server Adam', 'FedAvg, server SGD'],
    )
    # Even where each method has one only: they would seem to be the same.
    self.assertEqual(
      _label(_variant('fed_avg'), _variant('fed_fish,server=sgd')),
      ['FedAvg, server Adam', 'FedFish, server SGD'],
    )
    self.assertEqual(
      _label(_variant('fed_avg,server=sgd'), _variant('fed_fish,server=sgd')),
      ['FedAvg', 'FedFish'],
    )

  def test_local_epochs_settle_rounds_and_tuned_rates(self):
    configs = [
      _variant(
        variant,
        local_epochs=epochs,
        rounds=32 // epochs,
        client_learning_rate=r,
      )
      for variant, epochs, r in (
        ('fed_avg', 1, 0.1),
        ('fed_avg', 16, 0.01),
        ('fed_fish', 16, 0.05),
      )
    ]
    self.assertEqual(
      _label(*configs),
      [
        'FedAvg, 1 local epoch',
        'FedAvg, 16 local epochs',
        'FedFish, 16 local epochs',
      ],
    )
    self.assertEqual(
      _label(*configs, besides=('local_epochs', 'rounds')),
      ['FedAvg', 'FedAvg', 'FedFish'],
    )

  def test_tuned_rates_are_not_told_of_several_estimators(self):
    # FedAvg has no estimator, and yet each method has its own rates.
    configs = [
      _variant(
        variant,
        local_epochs=epochs,
        client_learning_rate=client,
        server_learning_rate=server,
      )
      for variant, epochs, client, server in (
        ('fed_avg', 1, 0.1, 0.03),
        ('fed_avg', 16, 0.01, 0.01),
        ('fed_fish', 1, 0.05, 0.03),
        ('fed_fish', 16, 0.05, 0.1),
        ('per_example', 1, 0.5, 0.01),
        ('per_example', 16, 0.1, 0.3),
      )
    ]
    methods = ['FedAvg', 'FedFish', 'FedFish, per example']
    self.assertEqual(
      _label(*configs, besides=('local_epochs', 'rounds')),
      [method for method in methods for _ in range(2)],
    )
    self.assertLen(set(_label(*configs)), 6)
    self.assertEqual(_label(*configs[::2]), methods)

  def test_local_epochs_that_differ_between_methods_are_told(self):
    self.assertEqual(
      _label(_variant('fed_avg'), _variant('fed_fish', local_epochs=8)),
      ['FedAvg, 1 local epoch', 'FedFish, 8 local epochs'],
    )

  def test_rates_of_a_grid_are_told(self):
    self.assertEqual(
      _label(
        _variant('fed_avg', client_learning_rate=0.1),
        _variant('fed_avg', client_learning_rate=0.01),
      ),
      [
        'FedAvg, client learning rate 0.1',
        'FedAvg, client learning rate 0.01',
      ],
    )

  def test_a_difference_that_no_other_field_settles_is_told(self):
    self.assertEqual(
      _label(
        *(
          fake_runs.make_config(
            'fed_fish', damping=damping, fisher_normalization=normalization
          )
          for damping, normalization in (
            (0.0, 'sum'),
            (0.1, 'sum'),
            (0.1, 'mean'),
          )
        )
      ),
      [
        'FedFish',
        'FedFish, damping 0.1',
        'FedFish, damping 0.1, normalization mean',
      ],
    )

  @hypothesis.settings(deadline=None, max_examples=50)
  @hypothesis.given(
    st.lists(
      st.dictionaries(
        st.sampled_from(
          ['damping', 'fisher_estimator', 'server_optimizer', 'diagnostics']
        ),
        st.sampled_from([0.0, 0.1, 'sgd', 'adam', 'batch_gradient', True]),
      ),
      min_size=1,
      max_size=6,
      unique_by=repr,
    )
  )
  def test_labels_are_unique(self, all_fields):
    keys = {repr(sorted(fields.items())) for fields in all_fields}
    hypothesis.assume(len(keys) == len(all_fields))
    labels = _label(
      *(fake_runs.make_config('fed_fish', **fields) for fields in all_fields)
    )
    self.assertLen(set(labels), len(all_fields))

  def test_variants_with_several_epochs_and_rates_have_unique_labels(self):
    configs = [
      _variant(variant, local_epochs=epochs, client_learning_rate=rate)
      for variant in sweeps.VARIANTS
      for epochs in (1, 8)
      for rate in (0.1, 0.01)
    ]
    distinct = {repr(config) for config in configs}
    self.assertLen(set(_label(*configs)), len(distinct))

  def test_an_unknown_method_keeps_its_name(self):
    self.assertEqual(_label(fake_runs.make_config('fed_new')), ['fed_new'])

  def test_closed_form_methods_and_what_is_fine_tuned_from_them(self):
    names = {
      'fed3r': 'Fed3R',
      'fed3r_rf': 'Fed3R-RF',
      'fed_ncm': 'FedNCM',
      'fed_avg,fine_tuning=ft,start=fed3r': 'Fed3R+FT',
      'fed_avg,fine_tuning=ft_lp,start=fed3r': 'Fed3R+FT-LP',
      'fed_avg,fine_tuning=ft_feat,start=fed3r': 'Fed3R+FT-FEAT',
      'fed_avg,fine_tuning=ft_lp': 'FedAvg-LP',
      'fed_fish,fine_tuning=ft_lp': 'FedFish-LP',
    }
    configs = [fed3r_digits.get_config(name).to_dict() for name in names]
    # Rates, rounds, visits and temperatures are each method's own.
    self.assertEqual(_label(*configs), list(names.values()))
    for config, name in zip(configs, names.values()):
      self.assertEqual(_label(config), [name])

  def test_fields_of_closed_form_methods_are_told(self):
    configs = []
    for size in (1000, 5000):
      config = fed3r_digits.get_config('fed3r_rf').to_dict()
      config['algorithm']['num_random_features'] = size
      configs.append(config)
    self.assertEqual(
      _label(*configs),
      [
        'Fed3R-RF, num random features 1000',
        'Fed3R-RF, num random features 5000',
      ],
    )

  def test_temperatures_of_a_grid_are_told(self):
    configs = []
    for temperature in (0.1, 1.0):
      config = fed3r_digits.get_config(
        'fed_avg,fine_tuning=ft,start=fed3r'
      ).to_dict()
      config['fine_tuning']['temperature'] = temperature
      configs.append(config)
    self.assertEqual(
      _label(*configs),
      ['Fed3R+FT, temperature 0.1', 'Fed3R+FT, temperature 1.0'],
    )


class LabelTasksTest(absltest.TestCase):
  def test_options_are_told_where_a_task_has_several(self):
    def config(name, **options):
      return {'task': {'name': name, **options}, 'algorithm': {'name': 'x'}}

    self.assertEqual(
      method_labels.label_tasks(
        _runs(
          [
            config('digits', alpha=0.1, num_clients=40),
            config('digits', alpha=1.0, num_clients=20),
            config('emnist', model='cnn'),
          ]
        )
      ),
      ['digits, alpha 0.1', 'digits, alpha 1.0', 'emnist'],
    )


def _exchange(variant, **changes):
  config = base.create_config(
    variant,
    server_optimizer='sgd',
    server_learning_rate=1.0,
    evaluation={'personalization_epochs': 0, 'barrier': False},
    client_learning_rate=0.05,
    local_epochs=1,
    task={'name': 'digits'},
  )
  if changes:
    config.exchange.update(changes)
  return config.to_dict()


class ExchangeLabelsTest(absltest.TestCase):
  def test_shares_directions_and_rules_are_told(self):
    self.assertEqual(
      _label(
        _exchange('fed_avg'),
        _exchange('fed_avg,exchange=partial'),
        _exchange('fed_avg,exchange=partial', share=0.25),
        _exchange('fed_avg,exchange=partial_smallest'),
        _exchange('fed_avg,exchange=partial,unsent=client_keeps'),
        _exchange('fed_fish,exchange=partial'),
      ),
      [
        'FedAvg',
        'Partial FedAvg, share 0.5, largest',
        'Partial FedAvg, share 0.25, largest',
        'Partial FedAvg, share 0.5, smallest',
        'Partial FedAvg, share 0.5, largest, client keeps',
        'Partial FedFish, share 0.5, largest',
      ],
    )

  def test_a_single_one_is_told_all_the_same(self):
    self.assertEqual(
      _label(
        _exchange('fed_avg,exchange=partial_smallest,unsent=client_keeps')
      ),
      ['Partial FedAvg, share 0.5, smallest, client keeps'],
    )

  def test_what_a_selection_ignores_is_not_told(self):
    self.assertEqual(
      _label(
        _exchange('fed_avg,exchange=partial', threshold=0.3, normalize=True),
        _exchange('fed_avg,exchange=layers'),
        _exchange('fed_avg,exchange=threshold', share=0.3),
        _exchange('fed_avg,exchange=coordinates', coordinate_score='weight'),
        _exchange('fed_avg,exchange=coordinates', share=0.25),
      ),
      [
        'Partial FedAvg, share 0.5, normalized, largest',
        'Partial FedAvg, share 0.5 of layers, largest',
        'Partial FedAvg, threshold 0.1, largest',
        'Partial FedAvg, share 0.5 of coordinates by weight, largest',
        'Partial FedAvg, share 0.25 of coordinates, largest',
      ],
    )
