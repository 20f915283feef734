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
  """Returns the config of a variant, with values of dotted fields (`__`)."""
  config = base.create_config(
    name,
    client_learning_rate=0.05,
    server_learning_rate=0.03,
    local_epochs=local_epochs,
    task={'name': 'digits'},
  )
  return _with(config.to_dict(), **fields)


def _with(config, **fields):
  for name, value in fields.items():
    block, _, field = name.rpartition('__')
    (config[block] if block else config)[field] = value
  return config


def _exchange(variant, **fields):
  """Returns the config of a variant whose clients may send a part."""
  config = base.create_config(
    variant,
    server_optimizer='sgd',
    server_learning_rate=1.0,
    evaluation={'personalization_epochs': 0, 'barrier': False},
    client_learning_rate=0.05,
    local_epochs=1,
    task={'name': 'digits'},
  ).to_dict()
  return _with(config, **{f'exchange__{n}': v for n, v in fields.items()})


def _fed3r(variant, **fields):
  return _with(fed3r_digits.get_config(variant).to_dict(), **fields)


def _tuned(variant, epochs, client, server):
  return _variant(
    variant,
    local_epochs=epochs,
    rounds=32 // epochs,
    client_learning_rate=client,
    server_learning_rate=server,
  )


# FedAvg has no estimator, and yet each method has its own rates.
_ESTIMATORS = {
  'FedAvg, 1 local epoch': _tuned('fed_avg', 1, 0.1, 0.03),
  'FedAvg, 16 local epochs': _tuned('fed_avg', 16, 0.01, 0.01),
  'FedFish, 1 local epoch': _tuned('fed_fish', 1, 0.05, 0.03),
  'FedFish, 16 local epochs': _tuned('fed_fish', 16, 0.05, 0.1),
  'FedFish, per example, 1 local epoch': _tuned('per_example', 1, 0.5, 0.01),
  'FedFish, per example, 16 local epochs': _tuned('per_example', 16, 0.1, 0.3),
}
_FINE_TUNED = {
  'Fed3R': _fed3r('fed3r'),
  'Fed3R-RF': _fed3r('fed3r_rf'),
  'FedNCM': _fed3r('fed_ncm'),
  'Fed3R+FT': _fed3r('fed_avg,fine_tuning=ft,start=fed3r'),
  'Fed3R+FT-LP': _fed3r('fed_avg,fine_tuning=ft_lp,start=fed3r'),
  'Fed3R+FT-FEAT': _fed3r('fed_avg,fine_tuning=ft_feat,start=fed3r'),
  'FedAvg-LP': _fed3r('fed_avg,fine_tuning=ft_lp'),
  'FedFish-LP': _fed3r('fed_fish,fine_tuning=ft_lp'),
}
_PARTIAL = 'fed_avg,exchange=partial'
_COORDINATES = 'fed_avg,exchange=coordinates'
# By the case, the configs by their expected labels.
_CASES = {
  'participation_by_its_title': {
    'FedAvg': _variant('fed_avg,participation=uniform'),
    'FedAvg, SRPFL': _variant('fed_avg,participation=srpfl'),
    'FedAvg, FLANP': _variant('fed_avg,participation=flanp'),
  },
  'a_field_of_participation': {
    f'FedAvg, n0 {n}': _variant(
      'fed_avg,participation=srpfl', participation__n0=n
    )
    for n in (2, 4)
  },
  'privacy_rules_and_bits_make_other_methods': {
    label: _variant(f'fed_avg{of}', algorithm__client_weighting='uniform')
    for label, of in {
      'FedAvg': '',
      'DP-FedAvg': ',privacy=gaussian',
      'Median FedAvg': ',aggregation=median',
      'Clipped FedAvg': ',aggregation=clipped',
      'Quantised Clipped FedAvg': ',aggregation=clipped,compression=quantized',
    }.items()
  },
  'tasks': {
    f'FedAvg, {of}': fake_runs.make_config(task=of)
    for of in ('digits', 'toy_regression')
  },
  'an_estimator_that_does_not_differ': {
    'FedAvg': _variant('fed_avg'),
    'FedFish, per example': _variant('per_example'),
  },
  'a_damping_alone': {'FedFish, damping 0.0001': _variant('damped')},
  'estimators': {
    'FedFish': _variant('fed_fish'),
    'FedFish, per example': _variant('per_example'),
    'FedFish, sampled label': _variant('sampled_label'),
    'FedFish, damping 0.0001': _variant('damped'),
  },
  'local_epochs_of_a_method_that_has_one_epoch': {
    'FedSGD, local epochs unset': _variant('fed_sgd'),
    'FedSGD, 8 local epochs': _with(_variant('fed_sgd'), local_epochs=8),
  },
  # The plain server has another rate, which the optimizer settles.
  'server_optimizers': {
    'FedAvg, server Adam': _variant('fed_avg'),
    'FedAvg, server SGD': _variant('fed_avg,server=sgd'),
  },
  # They would seem to be the same.
  'a_server_optimizer_for_each_method': {
    'FedAvg, server Adam': _variant('fed_avg'),
    'FedFish, server SGD': _variant('fed_fish,server=sgd'),
  },
  'one_server_optimizer': {
    'FedAvg': _variant('fed_avg,server=sgd'),
    'FedFish': _variant('fed_fish,server=sgd'),
  },
  'local_epochs_settle_rounds_and_tuned_rates': _ESTIMATORS,
  'tuned_rates_of_estimators': {
    label.partition(', 1 local')[0]: config
    for label, config in [*_ESTIMATORS.items()][::2]
  },
  'local_epochs_that_differ_between_methods': {
    'FedAvg, 1 local epoch': _variant('fed_avg'),
    'FedFish, 8 local epochs': _variant('fed_fish', local_epochs=8),
  },
  'rates_of_a_grid': {
    f'FedAvg, client learning rate {rate}': _variant(
      'fed_avg', client_learning_rate=rate
    )
    for rate in (0.1, 0.01)
  },
  'a_difference_that_no_other_field_settles': {
    f'FedFish{told}': fake_runs.make_config(
      'fed_fish', damping=damping, fisher_normalization=normalization
    )
    for told, damping, normalization in (
      ('', 0.0, 'sum'),
      (', damping 0.1', 0.1, 'sum'),
      (', damping 0.1, normalization mean', 0.1, 'mean'),
    )
  },
  'an_unknown_method': {'fed_new': fake_runs.make_config('fed_new')},
  'a_field_of_closed_forms': {
    f'Fed3R-RF, num random features {size}': _fed3r(
      'fed3r_rf', algorithm__num_random_features=size
    )
    for size in (1000, 5000)
  },
  'temperatures_of_a_grid': {
    f'Fed3R+FT, temperature {of}': _fed3r(
      'fed_avg,fine_tuning=ft,start=fed3r', fine_tuning__temperature=of
    )
    for of in (0.1, 1.0)
  },
  'rules_of_a_fine_tuning': {
    f'Fed3R+FT by {rule} FedAvg': _fed3r(
      f'fed_avg,fine_tuning=ft,start=fed3r,aggregation={preset}'
    )
    for rule, preset in (
      ('Median', 'median'),
      ('Trimmed-Mean', 'trimmed_mean'),
    )
  },
  'an_exchange': {
    'FedAvg': _exchange('fed_avg'),
    'Partial FedAvg, share 0.5, largest': _exchange(_PARTIAL),
    'Partial FedAvg, share 0.25, largest': _exchange(_PARTIAL, share=0.25),
    'Partial FedAvg, share 0.12345678, largest': _exchange(
      _PARTIAL, share=0.12345678
    ),
    'Partial FedAvg, share 0.12345679, largest': _exchange(
      _PARTIAL, share=0.12345679
    ),
    'Partial FedAvg, share 0.5, smallest': _exchange(f'{_PARTIAL}_smallest'),
    'Partial FedAvg, share 0.5, largest, client keeps': _exchange(
      f'{_PARTIAL},unsent=client_keeps'
    ),
    'Partial FedFish, share 0.5, largest': _exchange(
      'fed_fish,exchange=partial'
    ),
  },
  'an_exchange_alone': {
    'Partial FedAvg, share 0.5, smallest, client keeps': _exchange(
      f'{_PARTIAL}_smallest,unsent=client_keeps'
    )
  },
  'not_what_a_selection_ignores': {
    'Partial FedAvg, share 0.5, normalized, largest': _exchange(
      _PARTIAL, threshold=0.3, normalize=True
    ),
    'Partial FedAvg, share 0.5 of layers, largest': _exchange(
      'fed_avg,exchange=layers'
    ),
    'Partial FedAvg, threshold 0.1, largest': _exchange(
      'fed_avg,exchange=threshold', share=0.3
    ),
    'Partial FedAvg, share 0.5 of coordinates by weight, largest': _exchange(
      _COORDINATES, coordinate_score='weight'
    ),
    'Partial FedAvg, share 0.25 of coordinates, largest': _exchange(
      _COORDINATES, share=0.25
    ),
  },
  # Rates, rounds, visits and temperatures are each method's own.
  'closed_forms_and_what_is_fine_tuned_from_them': _FINE_TUNED,
  **{f'{label}_alone': {label: of} for label, of in _FINE_TUNED.items()},
}


class LabelMethodsTest(parameterized.TestCase):
  @parameterized.named_parameters(*_CASES.items())
  def test_labels_tell(self, configs):
    self.assertEqual(_label(*configs.values()), list(configs))

  def test_what_is_told_elsewhere_is_left_out(self):
    labels = _label(*_ESTIMATORS.values(), besides=('local_epochs', 'rounds'))
    methods = ['FedAvg', 'FedFish', 'FedFish, per example']
    self.assertEqual(labels, [method for method in methods for _ in range(2)])

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
