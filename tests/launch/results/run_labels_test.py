# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the labels of runs."""

import itertools

from launch import json_config
from launch.configs import base
from launch.configs import fed3r_digits
from launch.configs import sweeps
from launch.methods import method_notes
from launch.results import run_labels
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
      **method_notes.describe(fake_runs.as_config(config)),
    }
    for config in configs
  )


def _label(*configs, **kwargs):
  return run_labels.label_methods(_runs(configs), **kwargs)


def _variant(name, *, local_epochs=1, **fields):
  """Returns the config of a variant, with values of dotted fields (`__`)."""
  config = base.create_config(
    name,
    client_learning_rate=0.05,
    adaptive_server_rate=0.03,
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
  'FedAvg, 1 local epoch': _tuned('fed_avg', 1, 0.1, 1.0),
  'FedAdam, 1 local epoch': _tuned('fed_avg,server=adam', 1, 0.1, 0.03),
  'FedAdam, 16 local epochs': _tuned('fed_avg,server=adam', 16, 0.01, 0.01),
  'FedFish, 1 local epoch': _tuned('fed_fish', 1, 0.05, 1.0),
  'FedFish, 16 local epochs': _tuned('fed_fish', 16, 0.1, 1.0),
  'FedFish, per example, server rate 0.3, 1 local epoch': (
    _tuned('per_example', 1, 0.5, 0.3)
  ),
  'FedFish, per example, 16 local epochs': _tuned('per_example', 16, 0.1, 1.0),
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
  'a_field_of_participation': {
    f'FedAvg, SRPFL, n0 {n}': _variant(
      'fed_avg,participation=srpfl', participation__n0=n
    )
    for n in (2, 4)
  },
  'tasks': {
    f'FedAvg, {of}': fake_runs.make_config(task=of)
    for of in ('digits', 'toy_regression')
  },
  'estimators': {
    'FedFish': _variant('fed_fish'),
    'FedFish, per example': _variant('per_example'),
    'FedFish, sampled label': _variant('sampled_label'),
    'FedFish, mean of Fisher values, damping 0.0001': _variant('damped'),
  },
  'local_epochs_of_a_method_that_has_one_epoch': {
    'FedSGD, 1 local epoch': _variant('fed_sgd'),
    'FedSGD, 8 local epochs': _with(_variant('fed_sgd'), local_epochs=8),
  },
  # The plain server has another rate, which the optimizer settles.
  'server_optimizers': {
    'FedAdam': _variant('fed_avg,server=adam'),
    'FedYogi': _variant('fed_avg,server=yogi'),
    'FedAdagrad': _variant('fed_avg,server=adagrad'),
    'FedAvgM': _variant('fed_avg,server=sgdm'),
    'FedAvg, SGD with Nesterov momentum at the server': _variant(
      'fed_avg,server=nesterov'
    ),
    'FedFish, Adam at the server': _variant('fed_fish,server=adam'),
    'FedAvg': _variant('fed_avg'),
    'FedFish': _variant('fed_fish'),
  },
  'a_server_optimizer_of_a_part': {
    'Partial FedAdam, share 0.5, largest': _variant(
      'fed_avg,server=adam,exchange=partial'
    ),
  },
  'what_differs_from_the_published_form': {
    'FedAvg, clients weighted equally': _variant(
      'fed_avg', algorithm__client_weighting='uniform'
    ),
    'SCAFFOLD, clients weighted by examples': _variant(
      'scaffold', algorithm__client_weighting='num_examples'
    ),
    'SCAFFOLD': _variant('scaffold'),
    'FedAvg, clients with SGD with momentum 0.5': _variant(
      'fed_avg', algorithm__client_optimizer='sgdm_half'
    ),
    'Mime Lite': _variant('mime_lite'),
    'FedAvg, server rate 0.5, at most 64 examples per client': _variant(
      'fed_avg', server_learning_rate=0.5, max_examples_per_client=64
    ),
    'FedAvg, at most 1 example per client': _variant(
      'fed_avg', max_examples_per_client=1
    ),
    # No rate of its server is the published one.
    'FedSGD': _variant('fed_sgd', server_learning_rate=0.5),
  },
  'server_rates_of_a_grid': {
    'FedAvg, server rate 0.5': _variant('fed_avg', server_learning_rate=0.5),
    'FedAvg, server rate 5': _variant('fed_avg', server_learning_rate=5.0),
    'FedAvg': _variant('fed_avg'),
  },
  'local_epochs_settle_rounds_and_tuned_rates': _ESTIMATORS,
  'tuned_rates_of_estimators': {
    'FedAvg': _tuned('fed_avg', 1, 0.1, 1.0),
    'FedFish': _tuned('fed_fish', 1, 0.05, 1.0),
    'FedFish, per example': _tuned('per_example', 1, 0.5, 1.0),
  },
  'local_epochs_that_differ_between_methods': {
    'FedAvg, 1 local epoch': _variant('fed_avg'),
    'FedFish, 8 local epochs': _variant('fed_fish', local_epochs=8),
  },
  'fields_of_a_method_in_which_only_runs_of_another_title_differ': {
    'FedFish, diagnostics False': _variant('fed_fish'),
    'FedFish, diagnostics True': _variant(
      'fed_fish', algorithm__diagnostics=True
    ),
    'FedFish, per example': _variant('per_example'),
  },
  'of_a_grid_epochs_come_first_and_rates_last': {
    f'FedFish, {epochs} local epochs, diagnostics {diagnostics}, batch size '
    f'{size}, client learning rate {rate}': _variant(
      'fed_fish',
      local_epochs=epochs,
      algorithm__diagnostics=diagnostics,
      batch_size=size,
      client_learning_rate=rate,
    )
    for epochs, diagnostics, size, rate in itertools.product(
      (2, 8), (False, True), (5, 10), (0.1, 0.01)
    )
  },
  'a_batch_size_that_differs_between_methods': {
    'FedAvg, batch size 5': _variant('fed_avg', batch_size=5),
    'FedFish, batch size 10': _variant('fed_fish', batch_size=10),
  },
  'a_difference_that_no_other_field_settles': {
    f'FedFish{told}': fake_runs.make_config(
      'fed_fish', damping=damping, fisher_normalization=normalization
    )
    for told, damping, normalization in (
      ('', 0.0, 'sum'),
      (', damping 0.1', 0.1, 'sum'),
      (', mean of Fisher values, damping 0.1', 0.1, 'mean'),
    )
  },
  'an_unknown_method': {'fed_new': fake_runs.make_config('fed_new')},
  'a_field_of_closed_forms': {
    f'Fed3R-RF, num random features {size}': _fed3r(
      'fed3r_rf', algorithm__num_random_features=size
    )
    for size in (1000, 5000)
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

  def test_rounds_are_told_of_all_methods_if_of_one(self):
    runs = [
      _variant(name, rounds=rounds)
      for name, rounds in (('fed_avg', 4), ('fed_avg', 6), ('fed_fish', 4))
    ]
    self.assertEqual(
      _label(*runs),
      ['FedAvg, 4 rounds', 'FedAvg, 6 rounds', 'FedFish, 4 rounds'],
    )
    self.assertEqual(_label(*runs[1:]), ['FedAvg', 'FedFish'])

  def test_texts_of_users_stay_as_they_are(self):
    layers = ('', 'hidden_0')
    self.assertEqual(
      _label(
        *(_variant('fed_per', algorithm__local_layers=of) for of in layers)
      ),
      ["FedPer, local layers ''", 'FedPer, local layers hidden_0'],
    )

  def test_what_is_told_elsewhere_is_left_out(self):
    elsewhere = ('local_epochs', 'rounds', 'server_learning_rate')
    labels = _label(*_ESTIMATORS.values(), besides=elsewhere)
    methods = ['FedAvg', 'FedAdam', 'FedFish', 'FedFish, per example']
    self.assertEqual(labels, [methods[i] for i in (0, 1, 1, 2, 2, 3, 3)])

  @hypothesis.settings(deadline=None, max_examples=50)
  @hypothesis.given(
    st.lists(
      st.fixed_dictionaries(
        {},
        optional={
          'damping': st.sampled_from([0.1, 0.2]),
          'fisher_estimator': st.just('per_example'),
          'server_optimizer': st.sampled_from(['adam', 'nesterov']),
          'diagnostics': st.just(True),
        },
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
      run_labels.label_tasks(
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
