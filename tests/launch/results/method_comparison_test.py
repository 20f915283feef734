# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the comparison of methods."""

import csv
import dataclasses
import io
import itertools

from launch.results import method_comparison
from tests.launch.results import fake_runs

from absl.testing import parameterized
import numpy as np

_METRIC = 'eval/global/accuracy'


def _runs(fed_avg_seeds=(0, 1, 2), fed_fish_seeds=(0, 1, 2), **kwargs):
  return [
    *(fake_runs.make_run('fed_avg', s, **kwargs) for s in fed_avg_seeds),
    *(fake_runs.make_run('fed_fish', s, **kwargs) for s in fed_fish_seeds),
  ]


def _groups(*args, **kwargs):
  return fake_runs.frames(_runs(*args, **kwargs)).groups()


def _compare_runs(groups, metrics):
  rounds = method_comparison.LAST_ROUND, method_comparison.ALL_ROUNDS
  return list(_compare_columns(groups, metrics, rounds).itertuples())


def _compare_columns(groups, metrics, rounds):
  return method_comparison.compare_columns(
    groups, itertools.product(metrics, rounds, [method_comparison.SEEDS])
  )


def _compare_clients(groups, metrics):
  found = method_comparison.compare_columns(
    groups,
    [
      (metric, method_comparison.LAST_ROUND, method_comparison.CLIENTS)
      for metric in metrics
    ],
  )
  return list(found.itertuples())


def _compare(groups, metric=_METRIC):
  groups = fake_runs.named(groups).groups()
  return _compare_runs(groups, [metric])


def _compare_test(groups, name):
  found = method_comparison.compare_methods(groups, f'eval/global/{name}')
  return [c for c in found.itertuples() if c.metric.startswith('test/')]


class MethodComparisonTest(parameterized.TestCase):
  def test_baselines_come_second_in_a_pair(self):
    groups = fake_runs.frames(
      [fake_runs.make_run(a) for a in ('fed_fish', 'fed_avg', 'fed_sgd')]
    ).groups()
    self.assertEqual(
      method_comparison.method_pairs(groups),
      [('FedFish', 'FedAvg'), ('FedFish', 'FedSGD'), ('FedAvg', 'FedSGD')],
    )

  def test_what_is_fine_tuned_from_a_start_is_no_baseline(self):
    runs = [fake_runs.make_run(a) for a in ('fed_avg', 'fed_sgd', 'fed_avg')]
    runs[0].config['fine_tuning'] = {
      'strategy': 'ft',
      'start': {'name': 'fed3r'},
    }
    self.assertEqual(
      method_comparison.method_pairs(fake_runs.frames(runs).groups()),
      [('Fed3R+FT', 'FedAvg'), ('FedAvg', 'FedSGD')],
    )

  def test_what_sends_a_part_is_compared_with_what_sends_all(self):
    partial, whole = fake_runs.make_run(), fake_runs.make_run()
    partial.config['exchange'] = fake_runs.make_exchange()
    for runs in ([partial, whole], [whole, partial]):
      self.assertEqual(
        method_comparison.method_pairs(fake_runs.frames(runs).groups()),
        [('Partial FedAvg, share 0.5, largest', 'FedAvg')],
      )

  def test_pairs_differ_in_one_thing(self):
    runs = [
      fake_runs.make_setting_run(algorithm, local_epochs=e)
      for algorithm in ('fed_avg', 'fed_fish')
      for e in (1, 8)
    ]
    for number, run in enumerate(runs):
      run.config['client_learning_rate'] = 0.1 * number  # Tuned.
    self.assertEqual(
      method_comparison.method_pairs(fake_runs.frames(runs).groups()),
      [
        ('FedAvg, 8 local epochs', 'FedAvg, 1 local epoch'),
        ('FedFish, 1 local epoch', 'FedAvg, 1 local epoch'),
        ('FedFish, 8 local epochs', 'FedAvg, 8 local epochs'),
        ('FedFish, 8 local epochs', 'FedFish, 1 local epoch'),
      ],
    )
    # Two runs are there to be compared, whatever they are.
    self.assertEqual(
      method_comparison.method_pairs(
        fake_runs.frames([runs[0], runs[3]]).groups()
      ),
      [('FedFish, 8 local epochs', 'FedAvg, 1 local epoch')],
    )

  def test_methods_on_different_tasks_are_not_compared(self):
    groups = fake_runs.frames(
      [
        fake_runs.make_run('fed_fish', task='digits'),
        fake_runs.make_run('fed_avg', task='toy_regression'),
      ]
    ).groups()
    self.assertEmpty(method_comparison.method_pairs(groups))

  def test_differences_at_the_last_round_by_seed(self):
    comparison, _ = _compare_runs(_groups(), [_METRIC])
    self.assertEqual(comparison.rounds, method_comparison.LAST_ROUND)
    self.assertEqual(comparison.method, 'FedFish')
    self.assertEqual(comparison.baseline, 'FedAvg')
    self.assertAlmostEqual(comparison.mean, 0.1)
    self.assertEqual((comparison.n, comparison.wins), (3, 3))

  def test_all_rounds_but_the_initial_model_are_averaged(self):
    groups = {}
    for algorithm, values in (('fed_avg', [9, 1, 5]), ('fed_fish', [9, 2, 8])):
      run = dataclasses.replace(
        fake_runs.make_run(algorithm),
        columns={
          'round': np.array([0.0, 2.0, 4.0]),
          _METRIC: np.array(values, np.float64),
        },
      )
      groups[algorithm] = [run]
    last, mean = _compare(groups)
    self.assertEqual(mean.rounds, method_comparison.ALL_ROUNDS)
    self.assertEqual(last.mean, 3)
    self.assertEqual(mean.mean, 2)

  def test_a_method_that_diverges_is_not_compared_by_what_it_had_before(self):
    nan, inf = float('nan'), float('inf')
    groups = {
      algorithm: [
        dataclasses.replace(
          fake_runs.make_run(algorithm, seed),
          columns={
            'round': np.array([0.0, 1.0, 2.0, 3.0]),
            'train/loss': np.array(losses),
          },
        )
        for seed, losses in enumerate(by_seed)
      ]
      for algorithm, by_seed in (
        ('fed_avg', ([2.3, 1.0, 0.8, 0.6], [2.3, 1.0, 0.8, 0.6])),
        ('fed_fish', ([2.3, 0.9, nan, inf], [2.3, 0.9, 0.6, 0.3])),
      )
    }
    last, mean = _compare(groups, 'train/loss')
    self.assertAlmostEqual(last.mean, -0.3)
    self.assertAlmostEqual(mean.mean, 0.6 - 0.8)
    for comparison in (last, mean):
      self.assertEqual(comparison.n, 1)
      self.assertIn('finite value: 1', comparison.note)
    # Where all seeds have diverged there is still a row that says so.
    groups = {label: runs[:1] for label, runs in groups.items()}
    comparisons = _compare(groups, 'train/loss')
    self.assertEqual([c.n for c in comparisons], [0, 0])
    self.assertEndsWith(comparisons[0].text, 'finite value: 1')

  def test_rounds_that_one_run_was_not_evaluated_at_are_not_diverged(self):
    columns = {
      'round': np.array([1.0, 2.0, 3.0, 4.0]),
      _METRIC: np.array([np.nan, 0.5, np.nan, 0.7]),
    }
    every_second = dataclasses.replace(
      fake_runs.make_run('fed_fish'),
      columns=columns,
      empty={_METRIC: np.array([True, False, True, False])},
    )
    every = dataclasses.replace(
      fake_runs.make_run('fed_avg'),
      columns=columns | {_METRIC: np.array([0.1, 0.2, 0.3, 0.4])},
    )
    last, mean = _compare({'fed_fish': [every_second], 'fed_avg': [every]})
    self.assertAlmostEqual(last.mean, 0.3)
    self.assertAlmostEqual(mean.mean, 0.6 - 0.3)

  def test_runs_of_other_lengths_are_compared_at_their_own_ends(self):
    def run(algorithm, epochs, rounds, values, done=None):
      one = fake_runs.make_setting_run(
        algorithm, local_epochs=epochs, rounds=rounds
      )
      numbers = np.linspace(0, done or rounds, len(values))
      return dataclasses.replace(
        one, columns={'round': numbers, _METRIC: np.array(values)}
      )

    groups = {
      'short': [run('fed_fish', 16, 2, [0.1, 0.4, 0.6])],
      'long': [run('fed_avg', 1, 32, [0.1, 0.3, 0.5])],
    }
    (last,) = _compare(groups)
    self.assertEqual(last.rounds, method_comparison.LAST_ROUND)
    self.assertAlmostEqual(last.mean, 0.1)
    # What is not finished is not at its end.
    groups['long'] = [run('fed_avg', 1, 32, [0.1, 0.3, 0.5], done=16)]
    self.assertEmpty(_compare(groups))

  def test_the_initial_model_alone_is_not_compared(self):
    groups = {
      algorithm: [
        dataclasses.replace(
          fake_runs.make_run(algorithm),
          columns={'round': np.array(rounds), _METRIC: np.array([0.1, 0.5])},
        )
      ]
      for algorithm, rounds in (
        ('fed_avg', [0.0, 2.0]),
        ('fed_fish', [0.0, 3.0]),
      )
    }
    self.assertEmpty(_compare(groups))

  def test_test_clients_are_compared_by_seed(self):
    nan = float('nan')
    scores = {
      'fed_avg': (0.5, 0.6, 0.7, 0.8),
      'fed_fish': (0.7, 0.7, 0.9, nan),
    }
    groups = {}
    for algorithm, values in scores.items():
      groups[algorithm] = [
        dataclasses.replace(
          fake_runs.make_run(algorithm, seed),
          values={
            'test/global/accuracy': value,
            'test/global/accuracy_worst_tenth': value / 2,
            'test/personalized/accuracy_before': value,
            'test/personalized/accuracy': 0.9,
            'test/personalized/accuracy_client_std': 0.1,
            'test/global/loss': 1 - value,
          },
        )
        for seed, value in enumerate(values)
      ] + [fake_runs.make_run(algorithm, len(values))]  # Not finished.
    groups = fake_runs.named(groups).groups()
    found = _compare_test(groups, 'accuracy')
    self.assertEqual(
      [c.metric for c in found],
      [
        'test/global/accuracy',
        'test/global/accuracy_worst_tenth',
        'test/personalized/accuracy_before',
        'test/personalized/accuracy',
      ],
    )
    differences = np.array([0.2, 0.1, 0.2])
    self.assertAlmostEqual(found[0].mean, differences.mean())
    self.assertAlmostEqual(found[1].mean, differences.mean() / 2)
    self.assertEqual((found[0].n, found[0].wins), (3, 3))
    self.assertIn('finite value: 1', found[0].note)
    self.assertEqual((found[3].n, found[3].ties), (4, 4))
    (loss,) = _compare_test(groups, 'loss')
    self.assertEqual(loss.wins, 3)

  def test_a_lower_barrier_wins(self):
    comparison, _ = _compare_runs(_groups(), ['csb/accuracy'])
    self.assertAlmostEqual(comparison.mean, -0.1)
    self.assertEqual(comparison.wins, 3)

  def test_barriers_that_differ_by_rounding_tie(self):
    runs = _runs()
    for run in runs:
      barrier = 1e-9 * (run.algorithm == 'fed_fish')
      run.columns['csb/accuracy'][:] = (-1) ** run.seed * barrier
    groups = fake_runs.frames(runs).groups()
    comparison, _ = _compare_runs(groups, ['csb/accuracy'])
    self.assertEqual(
      str(comparison.text),
      '+0, better in 0 of 3 (3 ties); 3 pairs: no interval',
    )

  def test_only_common_seeds_are_paired(self):
    comparison, _ = _compare_runs(_groups((0, 1, 2), (1, 2, 3)), [_METRIC])
    self.assertEqual(comparison.n, 2)
    self.assertEmpty(_compare_runs(_groups((0,), (1,)), [_METRIC]))

  def test_clients_are_paired_within_seeds(self):
    groups = _groups(evaluated=True)
    before, after = _compare_clients(
      groups, ['before/accuracy', 'after/accuracy']
    )
    self.assertEqual(before.mean, 0)
    self.assertEqual(before.ties, 15)
    self.assertAlmostEqual(after.mean, 0.1)
    # The client that was too small to personalise is in no pair.
    self.assertEqual((after.n, after.wins), (15, 15))

  def test_clients_that_diverged_are_counted(self):
    runs = _runs((0,), (0,), evaluated=True)
    runs[1].clients['client_2']['after/accuracy'] = float('nan')
    groups = fake_runs.frames(runs).groups()
    (after,) = _compare_clients(groups, ['after/accuracy'])
    self.assertEqual(after.n, 4)
    self.assertIn('finite value: 1', after.note)

  def test_runs_without_evaluation_have_no_clients_to_compare(self):
    self.assertEmpty(_compare_clients(_groups(), ['after/accuracy']))

  def test_csv_and_table_say_the_same(self):
    comparisons = _compare_columns(
      _groups((0,), (0,)),
      [_METRIC, 'csb/accuracy'],
      (method_comparison.LAST_ROUND, method_comparison.ALL_ROUNDS),
    )
    text = method_comparison.to_csv(comparisons).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    self.assertEqual(
      [row['metric'] for row in rows],
      [_METRIC, _METRIC, 'csb/accuracy', 'csb/accuracy'],
    )
    self.assertAlmostEqual(float(rows[0]['mean']), 0.1)
    self.assertEqual((rows[0]['low'], rows[0]['n']), ('', '1'))
    table = method_comparison.format_table(comparisons).splitlines()
    self.assertLen(table, 5)
    self.assertIn('FedFish - FedAvg', table[1])
    self.assertIn('+0.1', table[1])
