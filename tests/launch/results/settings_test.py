# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of how runs are arranged by task, method and local epochs."""

import dataclasses

from fedfish_tff import errors
from launch.results import settings
from tests.launch.results import fake_runs

from absl.testing import parameterized

_START = {'strategy': 'ft', 'start': {'name': 'fed3r'}}


def _runs(*specs, seeds=(0,)):
  """Each spec is (algorithm, local epochs, rounds[, task])."""
  return [
    fake_runs.make_setting_run(
      algorithm, seed, local_epochs=epochs, rounds=rounds, task=task
    )
    for algorithm, epochs, rounds, task in (
      (*spec, 'digits')[:4] for spec in specs
    )
    for seed in seeds
  ]


def _read(*specs, **kwargs):
  return settings.read_settings(fake_runs.frames(_runs(*specs, **kwargs)))


def _keys(found):
  table = settings.describe(found).drop(columns='total_epochs')
  return list(table.itertuples(index=False, name=None))


def _with(algorithm='fed_avg', optimizer='sgd', *, server='sgd', **fields):
  own = {'client_optimizer': optimizer, 'server_optimizer': server}
  run = fake_runs.make_setting_run(algorithm, **own)
  run.config.update(fields)
  return run


class SettingsTest(parameterized.TestCase):
  def test_seeds_are_pooled_and_epochs_rise(self):
    found = _read(
      ('fed_avg', 16, 2), ('fed_avg', 1, 32), ('fed_fish', 1, 32), seeds=(1, 0)
    )
    self.assertEqual(
      _keys(found),
      [
        ('digits', 'FedAvg', 1, 32),
        ('digits', 'FedAvg', 16, 2),
        ('digits', 'FedFish', 1, 32),
      ],
    )
    self.assertEqual(list(found.runs['seed']), 3 * [0, 1])
    self.assertEqual(list(settings.describe(found)['total_epochs']), 3 * [32])

  def test_tasks_and_methods_are_as_given(self):
    given = [
      (method, epochs, 6, task)
      for task in ('emnist', 'digits')
      for method in ('fed_prox', 'fed_avg')
      for epochs in (16, 4)
    ]
    self.assertEqual(
      _keys(_read(*given)),
      [
        (task, method, epochs, 6)
        for task in ('emnist', 'digits')
        for method in ('FedProx', 'FedAvg')
        for epochs in (4, 16)
      ],
    )

  def test_a_run_without_local_epochs_has_one_a_round(self):
    run = fake_runs.make_setting_run(rounds=6)
    run.config.pop('local_epochs')
    found = settings.describe(settings.read_settings(fake_runs.frames([run])))
    self.assertEqual(found['total_epochs'].item(), 6)

  @parameterized.named_parameters(
    # Rates are tuned: they do not choose.
    (
      'that_shares_most_fields',
      [
        _with(
          algorithm,
          optimizer,
          client_learning_rate=rate,
        )
        for algorithm, optimizer, rate in (
          ('fed_avg', 'adam', 0.1),
          ('fed_avg', 'sgd', 0.2),
          ('fed_fish', 'adam', 0.2),
          ('fed_fish', 'sgd', 0.1),
        )
      ],
      {
        'FedFish, clients with Adam': 'FedAvg, clients with Adam',
        'FedFish': 'FedAvg',
      },
    ),
    (
      'that_takes_plain_steps_at_the_server',
      [
        _with(algorithm, server=server)
        for server in ('adam', 'sgd')
        for algorithm in ('fed_avg', 'fed_fish')
      ],
      {
        'FedAdam': 'FedAvg',
        'FedFish, Adam at the server': 'FedAvg',
        'FedFish': 'FedAvg',
      },
    ),
    (
      'fed_adam_without_fed_avg',
      [_with(server='adam'), _with('fed_fish', server='adam')],
      {'FedFish, Adam at the server': 'FedAdam'},
    ),
    (
      'fed_sgd_without_fed_avg',
      [_with('fed_sgd'), _with('fed_fish')],
      {'FedFish': 'FedSGD'},
    ),
    ('none_without_either', [_with('fed_fish'), _with('fed_prox')], {}),
    (
      'not_what_is_fine_tuned_from_a_start',
      [_with(fine_tuning=_START), _with()],
      {'Fed3R+FT': 'FedAvg'},
    ),
    ('not_such_a_one_alone', [_with(fine_tuning=_START)], {}),
    (
      'that_sends_all',
      [_with(exchange=fake_runs.make_exchange()), _with()],
      {'Partial FedAvg, share 0.5, largest': 'FedAvg'},
    ),
    ('not_itself', [_with(exchange=fake_runs.make_exchange())], {}),
  )
  def test_the_baseline_is(self, runs, expected):
    found = settings.read_settings(fake_runs.frames(runs))
    methods = settings.describe(found)['method']
    pairs = settings.pair_with_baselines(found).items()
    self.assertEqual(
      {methods[label]: methods[other] for label, other in pairs}, expected
    )

  @parameterized.parameters(
    # Tuned for each number of local epochs, or the same for all.
    ((1.0, 0.3), ['FedAvg', 'FedAvg']),
    ((0.3, 0.3), ['FedAvg, server rate 0.3'] * 2),
  )
  def test_server_rates_that_epochs_settle_make_no_methods(self, rates, names):
    runs = _runs(('fed_avg', 1, 6), ('fed_avg', 8, 6))
    for run, rate in zip(runs, rates):
      run.config['server_learning_rate'] = rate
    found = settings.read_settings(fake_runs.frames(runs))
    self.assertEqual(list(settings.describe(found)['method']), names)

  def test_server_rates_beside_each_other_make_methods(self):
    runs = _runs(('fed_avg', 1, 6), ('fed_avg', 8, 6), ('fed_avg', 8, 6))
    for run, rate in zip(runs, (1.0, 1.0, 0.3)):
      run.config['server_learning_rate'] = rate
    found = settings.describe(settings.read_settings(fake_runs.frames(runs)))
    self.assertCountEqual(
      zip(found['method'], found['local_epochs']),
      [
        ('FedAvg', 1),
        ('FedAvg', 8),
        ('FedAvg, server rate 0.3', 8),
      ],
    )

  def test_names_that_unite_methods(self):
    found = fake_runs.frames(
      _runs(*((of, n, 6) for of in ('fed_avg', 'fed_fish') for n in (1, 8)))
    )
    names = {'FedAvg': 'Ours', 'FedFish': 'Ours'}
    with self.assertRaisesRegex(errors.InputError, 'must keep methods apart'):
      settings.read_settings(dataclasses.replace(found, names=names))

  def test_baselines_have_the_task_the_epochs_and_the_rounds(self):
    found = _read(
      *(('fed_avg', number, 6) for number in (1, 8)),
      *(('fed_fish', number, 6) for number in (1, 8, 4)),
      ('fed_fish', 1, 12),
      ('fed_fish', 1, 6, 'emnist'),
    )
    pairs = settings.pair_with_baselines(found)
    table = settings.describe(found).drop(columns='total_epochs')
    self.assertEqual(
      [(*table.loc[label], *table.loc[of]) for label, of in pairs.items()],
      [('digits', 'FedFish', n, 6, 'digits', 'FedAvg', n, 6) for n in (1, 8)],
    )
