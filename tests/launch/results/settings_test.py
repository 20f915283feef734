# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of how runs are arranged for the layouts."""

from launch.results import settings
from tests.launch.results import fake_runs

from absl.testing import absltest


def _read(*specs, seeds=(0,)):
  """Each spec is (algorithm, local epochs, rounds[, task])."""
  runs = []
  for algorithm, epochs, rounds, *task in specs:
    for seed in seeds:
      runs.append(
        fake_runs.make_setting_run(
          algorithm,
          seed,
          local_epochs=epochs,
          rounds=rounds,
          task=task[0] if task else 'digits',
        )
      )
  return settings.read_settings(fake_runs.frames(runs))


def _keys(found):
  return list(map(tuple, found))


def _baselines(found):
  pairs = settings.pair_with_baselines(found)
  return {s.method: other.method for s, other in pairs}


class SettingsTest(absltest.TestCase):
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
    first = next(iter(found.values()))
    self.assertEqual(list(first.runs['seed']), [0, 1])

  def test_fixed_rounds_are_those_of_most_epochs_task_by_task(self):
    found = _read(
      ('fed_avg', 1, 6),
      ('fed_avg', 8, 6),
      ('fed_avg', 1, 48),
      ('fed_avg', 1, 12, 'emnist'),
      ('fed_avg', 16, 12, 'emnist'),
      ('fed_avg', 1, 5, 'cifar100'),
    )
    self.assertEqual(
      _keys(settings.fixed_rounds(found)),
      [
        ('digits', 'FedAvg', 1, 6),
        ('digits', 'FedAvg', 8, 6),
        ('emnist', 'FedAvg', 1, 12),
        ('emnist', 'FedAvg', 16, 12),
      ],
    )

  def test_fixed_compute_forgives_rounding(self):
    # 100 local epochs make 6.25 rounds of 16.
    found = _read(('fed_avg', 1, 100), ('fed_avg', 16, 6), ('fed_avg', 8, 6))
    self.assertEqual(
      _keys(settings.fixed_compute(found)),
      [('digits', 'FedAvg', 1, 100), ('digits', 'FedAvg', 16, 6)],
    )

  def test_one_number_of_epochs_makes_no_view(self):
    found = _read(('fed_avg', 4, 6), ('fed_fish', 4, 6))
    self.assertEmpty(settings.fixed_rounds(found))
    self.assertEmpty(settings.fixed_compute(found))

  def test_the_baseline_shares_most_fields(self):
    runs = [
      fake_runs.make_setting_run(algorithm, server_optimizer=optimizer)
      for algorithm in ('fed_avg', 'fed_fish')
      for optimizer in ('adam', 'sgd')
    ] + [fake_runs.make_setting_run('fed_sgd', server_optimizer='adam')]
    self.assertEqual(
      _baselines(settings.read_settings(fake_runs.frames(runs))),
      {
        'FedFish, server Adam': 'FedAvg, server Adam',
        'FedFish, server SGD': 'FedAvg, server SGD',
        'FedSGD, server Adam': 'FedAvg, server Adam',
      },
    )

  def test_tuned_rates_do_not_choose_the_baseline(self):
    runs = [
      fake_runs.make_setting_run(algorithm, server_optimizer=optimizer)
      for algorithm in ('fed_avg', 'fed_fish')
      for optimizer in ('adam', 'sgd')
    ]
    for run, client, server in zip(
      runs, (0.1, 0.2, 0.2, 0.1), (0.3, 0.4, 0.4, 0.3)
    ):
      run.config.update(
        client_learning_rate=client, server_learning_rate=server
      )
    baselines = _baselines(settings.read_settings(fake_runs.frames(runs)))
    self.assertEqual(baselines['FedFish, server Adam'], 'FedAvg, server Adam')
    self.assertEqual(baselines['FedFish, server SGD'], 'FedAvg, server SGD')

  def test_without_fed_avg_the_baseline_is_fed_sgd_or_none(self):
    found = _read(('fed_sgd', 1, 6), ('fed_fish', 1, 6))
    self.assertEqual(_baselines(found), {'FedFish': 'FedSGD'})
    found = _read(('fed_fish', 1, 6), ('fed_prox', 1, 6))
    self.assertEmpty(_baselines(found))

  def test_what_is_fine_tuned_from_a_start_is_no_baseline(self):
    started = fake_runs.make_setting_run()
    started.config['fine_tuning'] = {
      'strategy': 'ft',
      'start': {'name': 'fed3r'},
    }
    found = settings.read_settings(
      fake_runs.frames([started, fake_runs.make_setting_run()])
    )
    self.assertEqual(_baselines(found), {'Fed3R+FT': 'FedAvg'})
    self.assertEmpty(
      _baselines(settings.read_settings(fake_runs.frames([started])))
    )

  def test_what_sends_all_is_the_baseline_of_what_sends_a_part(self):
    partial = fake_runs.make_setting_run()
    partial.config['exchange'] = fake_runs.make_exchange()
    found = settings.read_settings(
      fake_runs.frames([partial, fake_runs.make_setting_run()])
    )
    self.assertEqual(
      _baselines(found),
      {'Partial FedAvg, share 0.5, largest': 'FedAvg'},
    )
    self.assertEmpty(
      _baselines(settings.read_settings(fake_runs.frames([partial])))
    )

  def test_baselines_have_the_task_the_epochs_and_the_rounds(self):
    found = {
      **_read(('fed_avg', 1, 6), ('fed_avg', 8, 6)),
      **_read(('fed_fish', 1, 6), ('fed_fish', 8, 6), ('fed_fish', 4, 6)),
      **_read(('fed_fish', 1, 6, 'emnist')),
    }
    # Labelled apart, they are still told by the same names.
    self.assertEqual(
      [
        (s.method, s.task, *s[2:])
        for s, _ in settings.pair_with_baselines(found)
      ],
      [('FedFish', 'digits', 1, 6), ('FedFish', 'digits', 8, 6)],
    )
    for s, other in settings.pair_with_baselines(found):
      self.assertEqual(other, s._replace(method='FedAvg'))
