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

from absl.testing import parameterized
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


def _with(config, **fields):
  """Returns a config with some dotted fields, with __ for the dots."""
  for name, value in fields.items():
    block, _, field = name.rpartition('__')
    (config[block] if block else config)[field] = value
  return config


def _exchange(variant, **changes):
  """Returns the config of a variant whose clients may send a part."""
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


def _tuned(*rows):
  """Returns configs of (variant, epochs, client rate, server rate)."""
  return [
    _variant(
      variant,
      local_epochs=epochs,
      rounds=32 // epochs,
      client_learning_rate=client,
      server_learning_rate=server,
    )
    for variant, epochs, client, server in rows
  ]


# FedAvg has no estimator, and yet each method has its own rates.
_ESTIMATORS = _tuned(
  ('fed_avg', 1, 0.1, 0.03),
  ('fed_avg', 16, 0.01, 0.01),
  ('fed_fish', 1, 0.05, 0.03),
  ('fed_fish', 16, 0.05, 0.1),
  ('per_example', 1, 0.5, 0.01),
  ('per_example', 16, 0.1, 0.3),
)
_UNIFORM = {'algorithm__client_weighting': 'uniform'}
_STARTED = 'fed_avg,fine_tuning=ft,start=fed3r'


class LabelMethodsTest(parameterized.TestCase):
  @parameterized.named_parameters(
    (
      'participation_by_its_title',
      [
        _variant(f'fed_avg,participation={of}')
        for of in ('uniform', 'srpfl', 'flanp')
      ],
      ['FedAvg', 'FedAvg, SRPFL', 'FedAvg, FLANP'],
    ),
    (
      'a_field_of_participation',
      [
        _with(_variant('fed_avg,participation=srpfl'), participation__n0=n)
        for n in (2, 4)
      ],
      ['FedAvg, n0 2', 'FedAvg, n0 4'],
    ),
    (
      'privacy_rules_and_bits_make_other_methods',
      [
        _with(_variant(f'fed_avg{blocks}'), **_UNIFORM)
        for blocks in (
          '',
          ',privacy=gaussian',
          ',aggregation=median',
          ',aggregation=clipped',
          ',aggregation=clipped,compression=quantized',
        )
      ],
      ['FedAvg', 'DP-FedAvg', 'Median FedAvg', 'Clipped FedAvg']
      + ['Quantised Clipped FedAvg'],
    ),
    (
      'tasks',
      [fake_runs.make_config(task=of) for of in ('digits', 'toy_regression')],
      ['FedAvg, digits', 'FedAvg, toy_regression'],
    ),
    (
      'an_estimator_that_does_not_differ',
      [_variant('fed_avg'), _variant('per_example')],
      ['FedAvg', 'FedFish, per example'],
    ),
    ('a_damping_alone', [_variant('damped')], ['FedFish, damping 0.0001']),
    (
      'estimators',
      [
        _variant(of)
        for of in ('fed_fish', 'per_example', 'sampled_label', 'damped')
      ],
      ['FedFish', 'FedFish, per example', 'FedFish, sampled label']
      + ['FedFish, damping 0.0001'],
    ),
    # The plain server has another rate, which the optimizer settles.
    (
      'server_optimizers',
      [_variant('fed_avg'), _variant('fed_avg,server=sgd')],
      ['FedAvg, server Adam', 'FedAvg, server SGD'],
    ),
    # They would seem to be the same.
    (
      'a_server_optimizer_for_each_method',
      [_variant('fed_avg'), _variant('fed_fish,server=sgd')],
      ['FedAvg, server Adam', 'FedFish, server SGD'],
    ),
    (
      'one_server_optimizer',
      [_variant('fed_avg,server=sgd'), _variant('fed_fish,server=sgd')],
      ['FedAvg', 'FedFish'],
    ),
    (
      'local_epochs_settle_rounds_and_tuned_rates',
      _ESTIMATORS[:4],
      [
        f'{method}, {epochs}'
        for method in ('FedAvg', 'FedFish')
        for epochs in ('1 local epoch', '16 local epochs')
      ],
    ),
    (
      'tuned_rates_of_estimators',
      _ESTIMATORS[::2],
      ['FedAvg', 'FedFish', 'FedFish, per example'],
    ),
    (
      'local_epochs_that_differ_between_methods',
      [_variant('fed_avg'), _variant('fed_fish', local_epochs=8)],
      ['FedAvg, 1 local epoch', 'FedFish, 8 local epochs'],
    ),
    (
      'rates_of_a_grid',
      [_variant('fed_avg', client_learning_rate=r) for r in (0.1, 0.01)],
      [f'FedAvg, client learning rate {r}' for r in (0.1, 0.01)],
    ),
    (
      'a_difference_that_no_other_field_settles',
      [
        fake_runs.make_config('fed_fish', damping=d, fisher_normalization=n)
        for d, n in ((0.0, 'sum'), (0.1, 'sum'), (0.1, 'mean'))
      ],
      ['FedFish', 'FedFish, damping 0.1']
      + ['FedFish, damping 0.1, normalization mean'],
    ),
    ('an_unknown_method', [fake_runs.make_config('fed_new')], ['fed_new']),
    (
      'a_field_of_closed_forms',
      [
        _with(
          fed3r_digits.get_config('fed3r_rf').to_dict(),
          algorithm__num_random_features=size,
        )
        for size in (1000, 5000)
      ],
      [f'Fed3R-RF, num random features {size}' for size in (1000, 5000)],
    ),
    (
      'temperatures_of_a_grid',
      [
        _with(
          fed3r_digits.get_config(_STARTED).to_dict(),
          fine_tuning__temperature=temperature,
        )
        for temperature in (0.1, 1.0)
      ],
      ['Fed3R+FT, temperature 0.1', 'Fed3R+FT, temperature 1.0'],
    ),
    (
      'an_exchange',
      [
        _exchange('fed_avg'),
        _exchange('fed_avg,exchange=partial'),
        _exchange('fed_avg,exchange=partial', share=0.25),
        _exchange('fed_avg,exchange=partial_smallest'),
        _exchange('fed_avg,exchange=partial,unsent=client_keeps'),
        _exchange('fed_fish,exchange=partial'),
      ],
      [
        'FedAvg',
        'Partial FedAvg, share 0.5, largest',
        'Partial FedAvg, share 0.25, largest',
        'Partial FedAvg, share 0.5, smallest',
        'Partial FedAvg, share 0.5, largest, client keeps',
        'Partial FedFish, share 0.5, largest',
      ],
    ),
    (
      'an_exchange_alone',
      [_exchange('fed_avg,exchange=partial_smallest,unsent=client_keeps')],
      ['Partial FedAvg, share 0.5, smallest, client keeps'],
    ),
    (
      'not_what_a_selection_ignores',
      [
        _exchange('fed_avg,exchange=partial', threshold=0.3, normalize=True),
        _exchange('fed_avg,exchange=layers'),
        _exchange('fed_avg,exchange=threshold', share=0.3),
        _exchange('fed_avg,exchange=coordinates', coordinate_score='weight'),
        _exchange('fed_avg,exchange=coordinates', share=0.25),
      ],
      [
        'Partial FedAvg, share 0.5, normalized, largest',
        'Partial FedAvg, share 0.5 of layers, largest',
        'Partial FedAvg, threshold 0.1, largest',
        'Partial FedAvg, share 0.5 of coordinates by weight, largest',
        'Partial FedAvg, share 0.25 of coordinates, largest',
      ],
    ),
  )
  def test_labels_tell(self, configs, expected):
    self.assertEqual(_label(*configs), expected)

  def test_what_is_told_elsewhere_is_left_out(self):
    methods = ['FedAvg', 'FedFish', 'FedFish, per example']
    self.assertEqual(
      _label(*_ESTIMATORS, besides=('local_epochs', 'rounds')),
      [method for method in methods for _ in range(2)],
    )
    self.assertLen(set(_label(*_ESTIMATORS)), 6)

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


class LabelTasksTest(parameterized.TestCase):
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
