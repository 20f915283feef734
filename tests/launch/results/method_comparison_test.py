# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the comparison of methods."""

import csv
import dataclasses
import io
import itertools

from launch.configs import digits
from launch.results import method_comparison
from launch.results import text_table
from tests.launch.results import fake_runs

from absl.testing import parameterized
import numpy as np
import pandas as pd

_METRIC = 'eval/global/accuracy'
_START = {'strategy': 'ft', 'start': {'name': 'fed3r'}}
_ROUNDS = method_comparison.LAST_ROUND, method_comparison.ALL_ROUNDS
_NAN = float('nan')


def _runs(fed_avg_seeds=(0, 1, 2), fed_fish_seeds=(0, 1, 2), **kwargs):
  return [
    *(fake_runs.make_run('fed_avg', s, **kwargs) for s in fed_avg_seeds),
    *(fake_runs.make_run('fed_fish', s, **kwargs) for s in fed_fish_seeds),
  ]


def _run(algorithm, rounds, values, seed=0, **fields):
  """Returns a run with values of the metric."""
  columns = {'round': np.array(rounds, float), _METRIC: np.array(values, float)}
  run = fake_runs.make_run(algorithm, seed)
  return dataclasses.replace(run, columns=columns, **fields)


def _compare(runs, metric=_METRIC):
  """Returns the comparisons at the last round and over all rounds."""
  groups = fake_runs.frames(runs).groups()
  columns = itertools.product([metric], _ROUNDS, [method_comparison.SEEDS])
  found = method_comparison.compare_columns(groups, columns)
  return list(found.itertuples())


def _compare_clients(runs, *metrics):
  columns = itertools.product(
    metrics, [method_comparison.LAST_ROUND], [method_comparison.CLIENTS]
  )
  groups = fake_runs.frames(runs).groups()
  found = method_comparison.compare_columns(groups, columns)
  return list(found.itertuples())


def _with(run, **fields):
  run.config.update(fields)
  return run


class MethodPairsTest(parameterized.TestCase):
  @parameterized.named_parameters(
    (
      'baselines_come_second',
      [fake_runs.make_run(a) for a in ('fed_fish', 'fed_avg', 'fed_sgd')],
      [('FedFish', 'FedAvg'), ('FedSGD', 'FedAvg')],
    ),
    (
      'what_is_fine_tuned_from_a_start_is_no_baseline',
      [
        _with(fake_runs.make_run(), fine_tuning=_START),
        *map(fake_runs.make_run, ('fed_sgd', 'fed_avg')),
      ],
      [('Fed3R+FT', 'FedAvg'), ('FedSGD', 'FedAvg')],
    ),
    (
      'what_sends_a_part_against_what_sends_all',
      [
        fake_runs.make_run(),
        _with(fake_runs.make_run(), exchange=fake_runs.make_exchange()),
      ],
      [('Partial FedAvg, share 0.5, largest', 'FedAvg')],
    ),
    (
      'of_several_baselines_the_nearest_whatever_the_tuned_rates',
      [
        _with(
          fake_runs.make_setting_run(algorithm, local_epochs=epochs),
          client_learning_rate=rate,
        )
        for algorithm, epochs, rate in (
          ('fed_avg', 1, 0.0),
          ('fed_avg', 8, 0.1),
          ('fed_fish', 1, 0.2),
          ('fed_fish', 8, 0.3),
        )
      ],
      [
        ('FedAvg, 8 local epochs', 'FedAvg, 1 local epoch'),
        ('FedFish, 1 local epoch', 'FedAvg, 1 local epoch'),
        ('FedFish, 8 local epochs', 'FedAvg, 8 local epochs'),
      ],
    ),
    (
      'of_several_baselines_that_of_equal_options',
      [
        fake_runs.make_run(algorithm, client_weighting=weighting)
        for algorithm in ('fed_avg', 'fed_prox')
        for weighting in ('num_examples', 'uniform')
      ],
      [
        ('FedAvg, clients weighted equally', 'FedAvg'),
        ('FedProx', 'FedAvg'),
        (
          'FedProx, clients weighted equally',
          'FedAvg, clients weighted equally',
        ),
      ],
    ),
    (
      'without_a_baseline_the_first',
      [fake_runs.make_run(a) for a in ('fed_fish', 'fed_prox', 'scaffold')],
      [('FedProx', 'FedFish'), ('SCAFFOLD', 'FedFish')],
    ),
    # They are there to be compared.
    (
      'two_runs_whatever_they_are',
      [
        fake_runs.make_setting_run('fed_avg', local_epochs=1),
        fake_runs.make_setting_run('fed_fish', local_epochs=8),
      ],
      [('FedFish, 8 local epochs', 'FedAvg, 1 local epoch')],
    ),
    (
      'different_tasks_are_not_compared',
      [fake_runs.make_run(task=of) for of in ('digits', 'toy_regression')],
      [],
    ),
  )
  def test_pairs(self, runs, expected):
    for of in (runs, runs[::-1]) if len(runs) == 2 else (runs,):
      groups = fake_runs.frames(of).groups()
      found = method_comparison.pair_methods(groups)
      self.assertEqual(found.compared, expected)
      self.assertEmpty(found.left_out)

  @parameterized.parameters(
    'scaffold', 'fed_rep', 'ditto', 'fed_nova', 'hf_maml'
  )
  def test_what_follows_from_a_method_is_no_difference(self, algorithm):
    runs = [
      _with(fake_runs.make_run(of), **digits.get_config(of).to_dict())
      for of in ('fed_avg', 'fed_fish', algorithm)
    ]
    groups = fake_runs.frames(runs).groups()
    found = method_comparison.pair_methods(groups)
    self.assertEqual(
      found.compared, [(label, 'FedAvg') for label in list(groups)[1:]]
    )
    self.assertEmpty(method_comparison.tell_differences(groups))

  def test_a_pair_that_is_left_out_is_named_with_its_fields(self):
    runs = [
      fake_runs.make_run(),
      fake_runs.make_run('fed_fish'),
      _with(fake_runs.make_run('scaffold'), local_epochs=8, cohort_size=3),
    ]
    groups = fake_runs.frames(runs).groups()
    found = method_comparison.pair_methods(groups)
    self.assertLen(found.compared, 1)
    self.assertStartsWith(found.compared[0][0], 'FedFish')
    (told,) = method_comparison.tell_differences(groups)
    self.assertStartsWith(told, 'Left out of comparison.csv')
    self.assertIn('SCAFFOLD', told)
    self.assertIn('(local_epochs, cohort_size)', told)
    # Without another pair, it is compared, and named too.
    groups = {k: of for k, of in groups.items() if not k.startswith('FedFish')}
    self.assertLen(method_comparison.pair_methods(groups).compared, 1)
    (told,) = method_comparison.tell_differences(groups)
    self.assertStartsWith(told, 'Compared, though')
    self.assertIn('(local_epochs, cohort_size)', told)


class MethodComparisonTest(parameterized.TestCase):
  @parameterized.parameters((_METRIC, 0.1), ('csb/accuracy', -0.1))
  def test_differences_at_the_last_round_by_common_seed(self, metric, mean):
    last, _ = _compare(_runs((0, 1, 2), (0, 2, 3)), metric)
    self.assertEqual(
      (last.method, last.baseline, last.rounds, last.n, last.wins),
      ('FedFish', 'FedAvg', method_comparison.LAST_ROUND, 2, 2),
    )
    self.assertAlmostEqual(last.mean, mean)
    self.assertEmpty(_compare(_runs((0,), (1,)), metric))

  def test_all_rounds_but_the_initial_model_are_averaged(self):
    last, mean = _compare(
      [
        _run('fed_avg', [0, 2, 4], [9, 1, 5]),
        _run('fed_fish', [0, 2, 4], [9, 2, 8]),
      ]
    )
    self.assertEqual(mean.rounds, method_comparison.ALL_ROUNDS)
    self.assertEqual((last.mean, mean.mean), (3, 2))

  def test_a_method_that_diverges_is_not_compared_by_what_it_had_before(self):
    runs = [
      _run(algorithm, range(4), losses, seed)
      for algorithm, by_seed in (
        ('fed_avg', ([2.3, 1.0, 0.8, 0.6], [2.3, 1.0, 0.8, 0.6])),
        ('fed_fish', ([2.3, 0.9, _NAN, np.inf], [2.3, 0.9, 0.6, 0.3])),
      )
      for seed, losses in enumerate(by_seed)
    ]
    last, mean = _compare(runs)
    self.assertAlmostEqual(last.mean, -0.3)
    self.assertAlmostEqual(mean.mean, 0.6 - 0.8)
    for comparison in (last, mean):
      self.assertEqual(comparison.n, 1)
      self.assertIn('finite value: 1', comparison.note)
    # Where all seeds have diverged there is still a row that says so.
    comparisons = _compare(runs[::2])
    self.assertEqual([c.n for c in comparisons], [0, 0])
    self.assertEndsWith(comparisons[0].text, 'finite value: 1')

  def test_a_run_that_ended_since_it_diverged_is_a_missing_pair(self):
    runs = [
      _run('fed_avg', range(1, 7), np.arange(6) + seed, seed) for seed in (0, 1)
    ]
    runs += [
      _run('fed_fish', range(1, 7), np.arange(6) + 2, 0),
      _run('fed_fish', range(1, 4), [9, np.inf, np.inf], 1, diverged_round=2),
    ]
    self._check_ended(runs)
    # It was last evaluated before, or at no round of training, or ended at a
    # round at which the other was not evaluated.
    for rounds in ([1], [0], [7]):
      runs[-1] = _run('fed_fish', rounds, [9], 1, diverged_round=2)
      self._check_ended(runs)

  def _check_ended(self, runs):
    read = fake_runs.frames(runs)
    ended = read.runs['diverged_round'].notna()
    read.runs.loc[ended, 'length'] = 3
    found = method_comparison.compare_columns(
      read.groups(),
      itertools.product([_METRIC], _ROUNDS, [method_comparison.SEEDS]),
    )
    for of in found.itertuples():
      self.assertEqual((of.n, of.seeds, of.mean), (1, 1, 2))
      self.assertIn('finite value: 1', of.note)
    self.assertStartsWith(
      method_comparison.format_table(found), 'No differences are shown'
    )

  def test_rounds_that_one_run_was_not_evaluated_at_are_not_diverged(self):
    rounds = [1, 2, 3, 4]
    empty = {_METRIC: np.array([True, False, True, False])}
    last, mean = _compare(
      [
        _run('fed_fish', rounds, [_NAN, 0.5, _NAN, 0.7], empty=empty),
        _run('fed_avg', rounds, [0.1, 0.2, 0.3, 0.4]),
      ]
    )
    self.assertAlmostEqual(last.mean, 0.3)
    self.assertAlmostEqual(mean.mean, 0.6 - 0.3)

  @parameterized.parameters((True, 1), (False, 0))
  def test_runs_of_other_lengths_are_compared_at_their_ends(self, done, count):
    short = _run('fed_fish', [0, 1, 2], [0.1, 0.4, 0.6])
    long = _run('fed_avg', [0, 1, 32], [0.1, 0.3, 0.5], is_finished=done)
    # What is not finished is not at its end.
    found = _compare(
      [
        _with(short, local_epochs=16, rounds=2),
        _with(long, local_epochs=1, rounds=32),
      ]
    )
    self.assertEqual(
      [(c.rounds, round(c.mean, 9)) for c in found],
      [(method_comparison.LAST_ROUND, 0.1)] * count,
    )

  def test_a_run_that_is_not_finished_is_in_no_pair(self):
    runs = _runs(evaluated=True)
    runs[-1] = dataclasses.replace(runs[-1], is_finished=False)
    groups = fake_runs.frames(runs).groups()
    found = method_comparison.compare_methods(groups, _METRIC)
    self.assertEqual(
      set(found['metric']),
      {_METRIC, *('csb/accuracy', 'global/accuracy', 'before/accuracy')}
      | {'few_shot_25/accuracy', 'after/accuracy'},
    )
    self.assertEqual(set(found['seeds']), {2})

  def test_test_clients_are_compared_by_seed(self):
    runs = [
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
      for algorithm, values in (
        ('fed_avg', (0.5, 0.6, 0.7, 0.8)),
        ('fed_fish', (0.7, 0.7, 0.9, _NAN)),
      )
      for seed, value in enumerate(values)
    ]
    runs += [
      dataclasses.replace(run, is_finished=False) for run in _runs((4,), (4,))
    ]
    groups = fake_runs.frames(runs).groups()

    def compare(name):
      found = method_comparison.compare_methods(groups, f'eval/global/{name}')
      return [c for c in found.itertuples() if c.metric.startswith('test/')]

    found = compare('accuracy')
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
    (loss,) = compare('loss')
    self.assertEqual(loss.wins, 3)

  def test_differences_are_those_of_a_metric_of_small_values(self):
    runs = _runs()
    for run in runs:
      run.columns[_METRIC] = 1e-9 * run.columns[_METRIC]
    # The loss of training is about 1.
    last, _ = _compare(runs)
    self.assertEqual((last.wins, last.ties), (3, 0))
    self.assertAlmostEqual(last.mean, 1e-10, 15)

  def test_barriers_that_differ_by_rounding_tie(self):
    runs = _runs()
    for run in runs:
      barrier = 1e-9 * (run.algorithm == 'fed_fish')
      run.columns['csb/accuracy'][:] = (-1) ** run.seed * barrier
    self.assertEqual(
      str(_compare(runs, 'csb/accuracy')[0].text),
      '+0, better in 0 of 3 (3 ties); 3 pairs: no interval',
    )

  def test_clients_are_paired_within_seeds(self):
    runs = _runs(evaluated=True)
    before, after = _compare_clients(runs, 'before/accuracy', 'after/accuracy')
    self.assertEqual((before.mean, before.ties), (0, 15))
    self.assertAlmostEqual(after.mean, 0.1)
    # The client that was too small to personalise is in no pair.
    self.assertEqual((after.n, after.wins), (15, 15))
    runs[-1].clients['client_2']['after/accuracy'] = _NAN
    (after,) = _compare_clients(runs, 'after/accuracy')
    self.assertEqual(after.n, 14)
    self.assertIn('finite value: 1', after.note)
    self.assertEmpty(_compare_clients(_runs(), 'after/accuracy'))

  def test_csv_and_table_say_the_same(self):
    comparisons = method_comparison.compare_columns(
      fake_runs.frames(_runs((0, 1), (0, 1))).groups(),
      itertools.product(
        [_METRIC, 'csb/accuracy'], _ROUNDS, [method_comparison.SEEDS]
      ),
    )
    text = text_table.frame_to_csv(comparisons).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    self.assertEqual(
      [row['metric'] for row in rows],
      [_METRIC, _METRIC, 'csb/accuracy', 'csb/accuracy'],
    )
    self.assertAlmostEqual(float(rows[0]['mean']), 0.1)
    self.assertEqual((rows[0]['low'], rows[0]['n']), ('', '2'))
    table = method_comparison.format_table(comparisons).splitlines()
    self.assertLen(table, 5)
    self.assertIn('FedFish - FedAvg', table[1])
    self.assertIn('+0.1', table[1])

  def test_a_difference_of_one_seed_is_not_printed(self):
    # Of seven seeds each, one is common.
    for seeds in ((0,), range(6, 13)):
      groups = fake_runs.frames(_runs(range(7), seeds)).groups()
      found = method_comparison.compare_methods(groups, _METRIC)
      self.assertNotEmpty(found)
      self.assertStartsWith(
        method_comparison.format_table(found), 'No differences are shown'
      )

  def test_p_is_that_of_all_flips_and_printed_after_holm(self):
    noise = np.array([0.3, 0.1, 0.2, -0.1, 0.4, 0.2, 0.3])
    gains = {
      'fed_fish': noise,
      'scaffold': np.arange(1, 8),
      'fed_sgd': noise / 9,
    }
    runs = [_run('fed_avg', [1], [0], seed) for seed in range(7)]
    runs += [
      _run(algorithm, [1], [gain], seed)
      for algorithm, of in gains.items()
      for seed, gain in enumerate(of)
    ]
    groups = fake_runs.frames(runs).groups()
    found = method_comparison.compare_columns(
      groups, [(_METRIC, method_comparison.LAST_ROUND, method_comparison.SEEDS)]
    )
    signs = np.array(list(itertools.product((-1, 1), repeat=7)))
    p = [
      np.mean(np.abs(signs @ of) >= abs(of.sum()) * (1 - 1e-12))
      for of in gains.values()
    ]
    np.testing.assert_allclose(found['p'], p)
    np.testing.assert_allclose(
      found['p_holm'], _adjust_holm(p), err_msg=str(found[['method', 'p']])
    )
    printed = method_comparison.format_table(found)
    for of in found['p_holm']:
      self.assertIn(f'p_holm = {of:.2g}', printed)

  @parameterized.parameters('csb/accuracy', 'csb/accuracy_by_examples')
  def test_barriers_are_compared_however_clients_are_weighted(self, metric):
    runs = _runs()
    for run in runs:
      barrier = 0.5 - 0.2 * (run.algorithm == 'fed_fish') + 0.01 * run.seed
      run.columns[metric] = np.full(len(run.columns['round']), barrier)
    groups = fake_runs.frames(runs).groups()
    found = method_comparison.compare_methods(groups, _METRIC)
    rows = found[found['metric'] == metric]
    self.assertLen(rows, 2)
    np.testing.assert_allclose(rows['mean'], -0.2)
    # A lower barrier is better.
    self.assertEqual(list(rows['wins']), [3, 3])

  def test_methods_without_a_column_are_named(self):
    runs = [*_runs(), *(fake_runs.make_run('scaffold', s) for s in range(3))]
    # Another task, none of whose runs has barriers.
    runs += [
      fake_runs.make_run(name, s, task='emnist')
      for name in ('fed_avg', 'fed_fish')
      for s in range(3)
    ]
    for run in runs:
      if run.algorithm == 'scaffold' or run.config['task']['name'] == 'emnist':
        del run.columns['csb/accuracy']
    groups = fake_runs.frames(runs).groups()
    found = method_comparison.compare_methods(groups, _METRIC)
    told = method_comparison.tell_absent(groups, found, _METRIC)
    self.assertEndsWith(told, ': csb/accuracy of SCAFFOLD, digits.')
    groups = fake_runs.frames(runs[:-6]).groups()
    kept = {k: of for k, of in groups.items() if k != 'SCAFFOLD'}
    found = method_comparison.compare_methods(kept, _METRIC)
    self.assertEmpty(method_comparison.tell_absent(kept, found, _METRIC))
    # The baseline lacks what counts, and other columns are compared.
    for run in runs[:-6]:
      if run.algorithm != 'fed_avg':
        run.columns['eval/own/accuracy'] = run.columns[_METRIC]
    own = fake_runs.frames(runs[:-6]).groups()
    told = method_comparison.tell_absent(own, found, 'eval/own/accuracy')
    self.assertIn('eval/own/accuracy of FedFish; SCAFFOLD', told)
    # Without a common seed there is no comparison at all.
    groups['FedAvg'] = groups['FedAvg'].of(
      groups['FedAvg'].runs.assign(seed=[7, 8, 9])
    )
    found = method_comparison.compare_methods(groups, _METRIC)
    self.assertEmpty(found)
    told = method_comparison.tell_absent(groups, found, _METRIC)
    self.assertEndsWith(told, ': FedFish; SCAFFOLD.')

  def test_a_start_of_clients_models_is_in_no_comparison(self):
    tuned = 'eval/personalized/accuracy'
    runs = [*_runs(), *(fake_runs.make_run('fed_rep', s) for s in range(3))]
    for run in runs:
      run.columns[tuned] = run.columns[f'{tuned}_before'] = run.columns[_METRIC]
    groups = fake_runs.frames(runs).groups()
    for metric, expected in (
      (_METRIC, ['FedFish']),
      (f'{tuned}_before', ['FedFish']),
      (tuned, ['FedFish', 'FedRep']),
    ):
      found = method_comparison.compare_methods(groups, metric)
      of_metric = found[found['metric'] == metric]
      self.assertEqual(list(of_metric['method'].unique()), expected)
      # The note on starts of models names it.
      self.assertNotIn(
        metric, method_comparison.tell_absent(groups, found, metric)
      )
    del groups['FedFish']
    found = method_comparison.compare_methods(groups, _METRIC)[:0]
    self.assertEqual(method_comparison.tell_absent(groups, found, _METRIC), '')
    self.assertEndsWith(
      method_comparison.tell_absent(groups, found, tuned), ': FedRep.'
    )

  def test_a_method_with_one_common_seed_is_named(self):
    groups = fake_runs.frames(
      [*_runs(), fake_runs.make_run('scaffold', 1)]
    ).groups()
    printed = method_comparison.format_table(
      method_comparison.compare_methods(groups, _METRIC)
    )
    *table, told = printed.splitlines()
    self.assertNotIn('SCAFFOLD', ''.join(table))
    self.assertEndsWith(
      told, 'one seed to compare with the baseline: SCAFFOLD.'
    )

  def test_holm_corrects_within_a_task(self):
    runs = [
      _run(algorithm, [1], [seed + 1.0 * (algorithm == 'fed_fish')], seed)
      for algorithm in ('fed_avg', 'fed_fish')
      for seed in range(6)
    ]
    tasks = ('digits', 'toy_regression', 'har')
    runs = [
      dataclasses.replace(run, config={**run.config, 'task': {'name': task}})
      for task in tasks
      for run in runs
    ]
    found = _compare(runs)
    self.assertLen(found, len(tasks) * len(_ROUNDS))
    # All six signs agree, in two of 64 flips.
    for of in found:
      self.assertEqual((of.p, of.p_holm), (2 / 2**6, 2 / 2**6))

  @parameterized.parameters(
    ('test/global/error', False),
    ('test/global/error_worst_tenth', False),
    ('test/global/error_client_std', False),
    ('test/global/error_jain_index', True),
    ('csb/error', False),
    ('test/global/accuracy', True),
  )
  def test_the_direction_of_a_task_is_that_of_its_metric(self, metric, higher):
    runs = [
      dataclasses.replace(run, metric='error', higher_is_better=False)
      for run in _runs()
    ]
    groups = fake_runs.frames(runs).groups()
    found = method_comparison.direction(list(groups.values()), metric)
    self.assertEqual(found['higher_is_better'], higher)
    runs = [dataclasses.replace(r, higher_is_better=True) for r in runs]
    groups = fake_runs.frames(runs).groups()
    found = method_comparison.direction(list(groups.values()), metric)
    by_task = metric.removesuffix('_worst_tenth') == 'test/global/error'
    self.assertEqual(found['higher_is_better'], by_task or higher)


class StandOutTest(parameterized.TestCase):
  def _find(self, *rows, **kwargs):
    values = {
      name: pd.Series(of, dtype=float)
      for name, of in zip('abcde', rows, strict=False)
    }
    return method_comparison.stand_out(
      values, **{'higher_is_better': True, **kwargs}
    )

  @parameterized.parameters(
    (5, 2, False),
    (6, 2, True),
    (6, 3, False),
    (7, 3, True),
    (7, 5, False),
    (8, 5, True),
  )
  def test_seeds_are_enough_for_that_many_methods(self, seeds, methods, enough):
    best = np.arange(1.0, seeds + 1)
    found = self._find(best, *[0 * best] * (methods - 1))
    self.assertEqual(
      (found.best, found.has_too_few), ('a' if enough else None, not enough)
    )
    # It is the worst if lower is better.
    found = self._find(
      best, *[0 * best] * (methods - 1), higher_is_better=False
    )
    self.assertNotEqual(found.best, 'a')

  def test_each_p_after_holm_must_be_below_the_level(self):
    rng = np.random.default_rng(0)
    seen = set()
    for scale in np.linspace(0.2, 3, 25):
      best = rng.normal(1, scale, 9)
      others = rng.normal(0, scale, (2, 9)) * 0.3
      p = []
      for other in others:
        flips = np.array(list(itertools.product((-1, 1), repeat=9)))
        sums = np.abs(flips @ (best - other))
        p.append(np.mean(sums >= sums[0] * (1 - 1e-12)))
      is_best = best.mean() > others.mean(axis=1).max()
      expected = is_best and max(_adjust_holm(p)) < 0.05
      found = self._find(best, *others)
      self.assertEqual(found.best == 'a', expected, p)
      seen.add(expected)
    self.assertEqual(seen, {True, False})

  @parameterized.parameters(True, False)
  def test_the_best_mean_must_be_better_in_the_common_seeds(self, higher):
    sign = 0.1 if higher else -0.1
    common, other = np.zeros(7), np.full(7, 9.0)
    best = sign * pd.Series([*common, *other])
    beaten, ahead = best - sign, sign * pd.Series(common + 1)
    found = self._find(best, beaten, higher_is_better=higher)
    self.assertEqual(found.best, 'a')
    # In all seven seeds that it has, this one is better than the best mean.
    found = self._find(best, beaten, ahead, higher_is_better=higher)
    self.assertIsNone(found.best)
    self.assertCountEqual(found.seeds, [7, 14])

  def test_a_method_without_common_seeds_or_values_is_not_beaten(self):
    best, other = np.arange(1.0, 8), pd.Series(0.0, range(7))
    apart = pd.Series(0.0, range(10, 17))
    for last in (apart, []):
      found = self._find(best, other, last)
      self.assertIsNone(found.best)
      self.assertEqual(found.unpaired, ['c'])
    # One that has diverged is.
    found = self._find(best, other, [np.inf] * 7)
    self.assertEqual((found.best, found.unpaired), ('a', []))
    # If it lacks pairs in all common seeds, it is not.
    found = self._find(best, other, [np.inf] * 7 + [0.0])
    self.assertEqual((found.best, found.unpaired), (None, ['c']))


def _adjust_holm(p):
  """Returns p-values after Holm, by their definition."""
  order = sorted(range(len(p)), key=p.__getitem__)
  found = [
    max(min(1, (len(p) - j) * p[order[j]]) for j in range(order.index(i) + 1))
    for i in range(len(p))
  ]
  return found
