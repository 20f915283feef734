# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The table of methods against statistics computed here."""

import csv
import dataclasses
import io
import statistics

from fedfish_tff import errors
from launch.results import method_comparison
from launch.results import result_table
from tests.launch.results import fake_runs

from absl.testing import parameterized
import numpy as np
import pandas as pd

_METRIC = 'eval/global/accuracy'
_LAST, _ALL = method_comparison.LAST_ROUND, method_comparison.ALL_ROUNDS
_NAN, _INF = float('nan'), float('inf')


def _run(seed, values):
  return dataclasses.replace(
    fake_runs.make_run('fed_avg', seed),
    columns={
      'round': np.array([0.0, 2.0, 4.0]),
      _METRIC: np.array(values, np.float64),
      # Evaluated once only.
      'csb/accuracy': np.array([np.nan, 0.25, np.nan]),
    },
    empty={'csb/accuracy': np.array([True, False, True])},
  )


def _make(groups, columns=None, metric=_METRIC):
  """Returns the table for people."""
  named = fake_runs.named(groups)
  keys = (
    result_table.usual_columns(named, metric)
    if columns is None
    else result_table.parse_columns(named, columns, metric)
  )
  return result_table.make_table(named, keys, metric)


def _rows(groups, metric=_METRIC):
  """Returns the rows of the CSV file by method, metric and rounds."""
  text = result_table.to_csv(fake_runs.named(groups), metric).decode()
  return {
    (row['method'], row['metric'], row['rounds']): {
      name: float(row[name] or 'nan')
      for name in ('mean', 'deviation', 'seeds', 'diverged')
    }
    for row in csv.DictReader(io.StringIO(text))
  }


class MethodTableTest(parameterized.TestCase):
  def test_statistics_over_seeds_of_runs_that_may_diverge(self):
    rows = _rows(
      {
        'A': [_run(0, [9, 1, 5]), _run(1, [9, 2, 8]), _run(2, [9, _NAN, 8])]
        + [_run(3, [9, 2, _INF])],
        'B': [_run(0, [9, 1, _NAN])],
      }
    )
    np.testing.assert_equal(
      rows,
      {
        ('A', _METRIC, _LAST): {
          'mean': 7,
          'deviation': statistics.stdev([5, 8, 8]),
          'seeds': 3,
          'diverged': 1,
        },
        ('A', _METRIC, _ALL): {
          'mean': 4,
          'deviation': statistics.stdev([3, 5]),
          'seeds': 2,
          'diverged': 2,
        },
        **{
          ('B', _METRIC, which): {
            'mean': _NAN,
            'deviation': _NAN,
            'seeds': 0,
            'diverged': 1,
          }
          for which in (_LAST, _ALL)
        },
        **{
          (label, 'csb/accuracy', which): {
            'mean': 0.25,
            'deviation': 0 if seeds > 1 else _NAN,
            'seeds': seeds,
            'diverged': 0,
          }
          for label, seeds in (('A', 4), ('B', 1))
          for which in (_LAST, _ALL)
        },
      },
    )

  def test_what_was_sent_and_the_metric_after_as_much(self):
    groups = {
      label: [fake_runs.make_run(name, seed) for seed in range(2)]
      for label, name in (('A', 'fed_avg'), ('B', 'fed_fish'))
    }
    rows = _rows(groups)
    # In rounds 2, 4 and 6 A has sent as many MB, and B twice as many: 4 in
    # round 2, 8 in round 4.
    equal = result_table.EQUAL_BYTES
    for label, sent, score in (('A', 6, 0.605), ('B', 12, 0.305)):
      row = rows[label, result_table.MEGABYTES, _LAST]
      self.assertEqual(row['mean'], sent)
      self.assertAlmostEqual(rows[label, _METRIC, equal]['mean'], score)
    (_, *heads), *cells = _make(
      groups, ['bytes:equal_bytes', 'bytes:until']
    ).rows
    self.assertEqual(
      heads,
      [
        f'{result_table.MEGABYTES}, {equal}',
        f'{result_table.MEGABYTES}, until {_METRIC} is 0.6000',
      ],
    )
    self.assertEqual(cells, [['A', '6', '6'], ['B', '4', '12']])
    # Bytes that one run does not know are no common number.
    unknown = [fake_runs.make_run('fed_sgd')]
    del unknown[0].columns['communication/wire_bytes_total']
    self.assertNotIn(('A', _METRIC, equal), _rows({**groups, 'C': unknown}))
    del groups['B']
    self.assertNotIn(('A', _METRIC, equal), _rows(groups))

  @parameterized.parameters(
    (
      _METRIC,
      [[0.1, np.nan, 0.8], [0.1, 0.9, 0.7]],
      [0.1, 0.85, 0.7],
      '0.8000',
    ),
    ('eval/global/mse', [[9, np.inf, 2], [9, 1, 3]], [9, 1.5, 3], '2.000'),
  )
  def test_time_until_all_runs_are_as_good(self, metric, slow, fast, target):
    def run(seed, seconds, values):
      columns = {'round': np.arange(3.0), metric: np.array(values)}
      if seconds:
        columns['simulated/seconds'] = np.arange(3.0) * seconds
      made = fake_runs.make_run('fed_avg', seed)
      return dataclasses.replace(made, columns=columns, empty={})

    rows = _rows(
      {
        'slow': [run(0, 10, slow[0]), run(1, 10, slow[1])],
        'fast': [run(0, 1, fast)],
        'untimed': [run(0, 0, [0.5, 0.5, 0.5])],
      },
      metric,
    )
    labels = [label for label, *_ in rows]
    self.assertEqual(
      labels, sorted(labels, key=['slow', 'fast', 'untimed'].index)
    )
    # The worst of the bests is that of the first slow run, after 20 seconds;
    # the second one is as good after 10.
    self.assertEqual(
      {
        (label, which): (row['mean'], row['seeds'])
        for (label, column, which), row in rows.items()
        if column == 'simulated/seconds'
      },
      {
        ('slow', _LAST): (20, 2),
        ('slow', f'until {metric} is {target}'): (15, 2),
        ('fast', _LAST): (2, 1),
        ('fast', f'until {metric} is {target}'): (1, 1),
      },
    )

  @parameterized.parameters(
    # The second run only loses what its initial model had.
    ([0.9, 0.3, 0.5], [0.1, 0.6, 0.7], '0.5000', 'A'),
    ([0.2, 0.3, 0.5], [0.1, 0.6, 0.7], '0.5000', ''),
    ([0.5, 0.3, 0.5], [0.6, 0.6, 0.7], '0.5000', 'A; B'),
  )
  def test_an_initial_model_sets_and_reaches_no_target(
    self, one, other, target, told
  ):
    groups = {
      label: [
        dataclasses.replace(
          fake_runs.make_run(name),
          columns={
            'round': np.arange(3.0),
            _METRIC: np.array(values),
            'simulated/seconds': np.arange(3.0) * 10,
          },
          empty={},
        )
      ]
      for label, name, values in (
        ('A', 'fed_avg', one),
        ('B', 'fed_fish', other),
      )
    }
    table = _make(groups, ['seconds:until'])
    head = f'Simulated seconds, until {_METRIC} is {target}'
    self.assertEqual(table.rows, [['Method', head], ['A', '20'], ['B', '10']])
    notes = [note for note in table.notes if 'initial model' in note]
    self.assertLen(notes, bool(told))
    if told:
      self.assertStartsWith(notes[0], f'{head}: the initial model')
      self.assertEndsWith(notes[0], f'training: {told}.')

  def test_a_start_of_clients_models_is_not_bold_and_sets_no_target(self):
    tuned = 'eval/personalized/accuracy'
    gains = {'fed_avg': 0.1, 'fed_fish': 0.2, 'fed_rep': 0.0}
    groups = {
      name: [
        dataclasses.replace(
          fake_runs.make_run(name, seed),
          columns={
            'round': np.arange(3.0),
            _METRIC: np.arange(3.0) * (gain + 0.001 * seed),
            # The start is the worst, and its clients' models are the best.
            tuned: np.arange(3.0) * (0.3 - gain + 0.001 * seed),
            'simulated/seconds': np.arange(3.0),
          },
          empty={},
        )
        for seed in range(10)
      ]
      for name, gain in gains.items()
    }
    groups['fed_rep'][9].columns[_METRIC][:] = 9
    table = _make(groups, [_METRIC, tuned, 'seconds:until'])
    # The worst of the others is as good as 0.2 at the end.
    self.assertEqual(
      table.rows[0][3], f'Simulated seconds, until {_METRIC} is 0.2000'
    )
    self.assertEqual([row[3] for row in table.rows[1:]], ['2', '1', ''])
    self.assertCountEqual(table.bold, [(2, 1), (3, 2)])
    self.assertIn(
      "The global model is only a start for clients' models, and in no "
      'comparison: fed_rep.',
      table.notes,
    )
    self.assertNotIn('only a start', ' '.join(_make(groups, [tuned]).notes))
    # By default the target is of a column with results of all methods.
    for runs in groups.values():
      for i, run in enumerate(runs):
        judges = 'personalized' if run.algorithm == 'fed_rep' else 'global'
        runs[i] = dataclasses.replace(run, judged_by=judges)
    table = _make(groups, ['seconds:until'], None)
    self.assertIn(f'until {tuned} is 0.2000', table.rows[0][1])
    self.assertEqual([row[1] for row in table.rows[1:]], ['1', '2', '1'])

  def test_the_table_for_people(self):
    groups = {
      'A': [_run(0, [9, 1, 5]), _run(1, [9, 2, 8])],
      'B': [_run(0, [9, 3, 4])],
    }
    head, *rows = _make(
      groups, [_METRIC, f'{_METRIC}:mean', 'csb', 'csb/accuracy:mean']
    ).rows
    self.assertEqual(
      head,
      [
        'Method',
        'Validation accuracy, global model',
        'Validation accuracy, global model, mean of rounds',
        'Barrier in accuracy',
        'Barrier in accuracy, mean of rounds',
      ],
    )
    self.assertEqual(
      [row[:2] for row in rows],
      [['A', '6.5 ± 2.1'], ['B', '4.000 (1 seed)']],
    )
    # No run is finished: there is nothing of test clients.
    self.assertEqual(
      [row[:2] for row in _make(groups).rows],
      [row[:2] for row in (head, *rows)],
    )

  def test_chosen_columns(self):
    runs = [
      dataclasses.replace(
        fake_runs.make_run(seed=seed),
        values={'test/global/accuracy': 0.5 + seed},
      )
      for seed in (0, 1)
    ]
    chosen = ['test/global/accuracy', 'train/loss']
    head, (_, test, loss) = _make({'A': runs}, chosen).rows
    self.assertEqual(
      head, ['Method', 'Test accuracy, global model', 'Training loss']
    )
    self.assertEqual(test, '1.00 ± 0.71')
    self.assertStartsWith(loss, '0.3333')
    # Early stopping has kept a model of an earlier round, which is tested.
    named = fake_runs.named({'A': runs})
    kept = named.of(named.runs.assign(model_round=4))
    keys = result_table.parse_columns(kept, [*chosen, 'bytes'])
    self.assertEqual(
      result_table.make_table(kept, keys).rows[0][1:],
      [
        'Test accuracy, global model',
        'Training loss, last round',
        result_table.MEGABYTES,
      ],
    )
    with self.assertRaisesRegex(
      errors.InputError, "'train/los'. Did you mean train/loss"
    ):
      _make({'A': runs}, ['train/los'])
    with self.assertRaisesRegex(errors.InputError, 'Did you mean mean'):
      _make({'A': runs}, ['train/loss:men'])

  @parameterized.parameters(
    ('test/golbal/accuracy', "'test/golbal/accuracy'. Did you mean global"),
    ('seconds:untill', 'Did you mean until'),
  )
  def test_columns_are_checked_before_any_run(self, name, message):
    with self.assertRaisesRegex(errors.InputError, message):
      result_table.check_columns(['bytes', name])
    result_table.check_columns(
      ['test/num_clients', 'csb', 'test/own/mine:mean', 'time/round_seconds']
    )

  def test_usual_columns_are_scores_of_test_clients(self):
    values = {
      'test/global/accuracy': 0.5,
      'test/global/accuracy_worst_tenth': 0.25,
      'test/global/loss': 1.0,
      'test/personalized/accuracy': 0.75,
    }
    run = dataclasses.replace(fake_runs.make_run(), values=values)
    for metric in (None, _METRIC):
      keys = result_table.usual_columns(fake_runs.named({'A': [run]}), metric)
      self.assertEqual(
        keys, [(name, _LAST) for name in values if not name.endswith('loss')]
      )
    # There is one after fine-tuning, on own test data if runs have it.
    new = 'test/new_fine_tuned/accuracy'
    more = dataclasses.replace(run, values={**values, new: 0.5})
    keys = result_table.usual_columns(fake_runs.named({'A': [more]}))
    self.assertEqual([name for name, _ in keys], [*list(values)[:2], new])
    # The score that judges is not there twice.
    run = dataclasses.replace(run, judged_by='personalized')
    keys = result_table.usual_columns(fake_runs.named({'A': [run]}))
    self.assertEqual(keys, [('test/personalized/accuracy', _LAST)])

  def test_counts_of_clients_are_no_results_for_programs(self):
    values = {
      'test/global/accuracy': 0.5,
      'test/global/num_examples': 9.0,
      'test/num_clients': 8.0,
    }
    run = dataclasses.replace(fake_runs.make_run(), values=values)
    rows = _rows({'A': [run]})
    found = [column for _, column, _ in rows if column in values]
    self.assertEqual(found, ['test/global/accuracy'])

  def test_the_best_is_that_of_scores_on_one_task(self):
    runs = {
      label: [
        dataclasses.replace(
          fake_runs.make_run(seed=seed),
          values={
            'test/global/my_metric': seed + best,
            'test/global/num_examples': seed + best,
            'test/global/diverged_clients': seed + best,
          },
        )
        for seed in range(6)
      ]
      for label, best in (('A', 1.0), ('B', 0.0))
    }
    columns = [
      *('train/loss', 'compute/local_steps_total', 'test/global/num_examples'),
      *('test/global/diverged_clients', 'test/global/my_metric'),
    ]
    self.assertEqual(_make(runs, columns).bold, [(1, 5)])
    # With other clients, a higher score is no better one.
    for run in runs['A']:
      run.config['task'] = {**run.config['task'], 'alpha': 10.0}
    self.assertEmpty(_make(runs, columns).bold)

  def test_each_task_has_its_own_direction_and_scale(self):
    def run(label, seed, value, **fields):
      run = fake_runs.make_run(seed=seed)
      run.config['task'] = {**run.config['task'], 'name': label[0]}
      return dataclasses.replace(
        run,
        columns={
          **run.columns,
          'eval/global/error': run.columns['round'] * 0 + value,
        },
        values={'test/global/error': value},
        metric='error',
        **fields,
      )

    runs = {
      label: [
        run(label, seed, unit * (best + seed), higher_is_better=higher)
        for seed in range(6)
      ]
      for label, unit, best, higher in (
        ('one A', 1e6, 2, True),
        ('one B', 1e6, 1, True),
        ('two A', 1e-6, 2, False),
        ('two B', 1e-6, 1, False),
      )
    }
    self.assertEqual(_make(runs, ['test/global/error']).bold, [(1, 1), (4, 1)])

  def test_means_of_different_rounds_and_counts_are_not_bold(self):
    def runs(middle, skips):
      for seed in range(6):
        run = _run(seed, [0, _NAN if skips else middle, 0.6])
        tokens = np.full(3, 100 * middle)
        yield dataclasses.replace(
          run,
          columns={**run.columns, 'train/num_tokens': tokens},
          empty={**run.empty, _METRIC: np.array([False, skips, False])},
        )

    columns = [f'{_METRIC}:mean', 'train/num_tokens']
    for skips in (False, True):
      groups = {'A': [*runs(0.5, False)], 'B': [*runs(0.1, skips)]}
      table = _make(groups, columns)
      self.assertEqual(table.bold, [] if skips else [(1, 1)])
      told = 'evaluated in different rounds' in ' '.join(table.notes)
      self.assertEqual(told, skips)

  def test_a_field_with_the_name_of_a_column_for_programs(self):
    named = fake_runs.named({'A': [fake_runs.make_run()]})
    told = pd.DataFrame({'method': ['A'], 'rounds': [3]}, named.runs['group'])
    (row, *_) = csv.DictReader(
      io.StringIO(result_table.to_csv(named, told=told).decode())
    )
    self.assertEqual((row['config.rounds'], row['rounds']), ('3', _LAST))

  def test_unfinished_runs_are_counted(self):
    runs = [fake_runs.make_run(seed=seed) for seed in (0, 1, 2)]
    values = {'test/global/accuracy': 0.5}
    for seed in (1, 2):
      runs[seed] = dataclasses.replace(runs[seed], is_finished=False)
    runs[0] = dataclasses.replace(runs[0], values=values)
    columns = ['test/global/accuracy', _METRIC, f'{_METRIC}:mean', 'bytes']
    table = _make({'A': runs}, columns)
    mean = statistics.mean(runs[0].columns[_METRIC])
    self.assertEqual(
      table.rows[1:],
      [
        ['A']
        + [
          f'{cell}, missing: 2'
          for cell in ('0.5000', '0.6000', f'{mean:.4f}', '6')
        ]
      ],
    )
    self.assertEqual(
      table.notes[0],
      '2 of 3 runs are not finished, so without results: A (2 of 3).',
    )

  def test_a_column_without_values_is_named(self):
    runs = {'A': [fake_runs.make_run(seed=seed) for seed in (0, 1)]}
    table = _make(runs, [_METRIC, f'{_METRIC}:equal_bytes'])
    self.assertLen(table.rows[0], 2)
    self.assertStartsWith(table.notes[0], 'Not shown, without a value')
    self.assertIn(result_table.EQUAL_BYTES, table.notes[0])
    self.assertEndsWith(table.notes[0], '(all runs have sent as much).')

  def test_what_was_sent_by_a_rare_evaluation_is_told(self):
    def run(name, seed, rounds, megabytes):
      rounds = np.array(rounds, np.float64)
      columns = {
        'round': rounds,
        _METRIC: 0.1 + rounds / 10,
        'communication/wire_bytes_total': rounds * megabytes * 1e6,
      }
      return dataclasses.replace(
        fake_runs.make_run(name, seed), columns=columns
      )

    groups = {
      'A': [run('fed_avg', seed, [0, 2, 6], 1) for seed in (0, 1)],
      'B': [run('fed_sgd', seed, [0, 1 + seed, 6], 2) for seed in (0, 1)],
      # By 6 MB, only the initial model was evaluated.
      'C': [run('fed_fish', seed, [0, 6], 2) for seed in (0, 1)],
    }
    table = _make(groups, [f'{_METRIC}:equal_bytes'])
    self.assertEqual(
      table.rows[1:], [['A', '0.7000'], ['B', '0.250 ± 0.071'], ['C', '']]
    )
    note = (note for note in table.notes if 'at most 6 MB' in note)
    self.assertEndsWith(
      next(note), 'then: 6 MB: A; 2 to 4 MB: B; no such evaluation: C.'
    )

  @parameterized.parameters({'is_finished': False}, {'diverged_round': 2})
  def test_what_ended_early_sets_no_common_budget(self, **fields):
    def run(name, rounds, **fields):
      numbers = np.arange(1.0, rounds + 1)
      columns = {
        'round': numbers,
        _METRIC: numbers / 10,
        'communication/wire_bytes_total': numbers * (1 + (name == 'fed_sgd')),
        'simulated/seconds': numbers * 10,
      }
      return dataclasses.replace(
        fake_runs.make_run(name), columns=columns, **fields
      )

    groups = {'A': [run('fed_avg', 6)], 'B': [run('fed_sgd', 5)]}
    expected = _rows(groups)
    short = run('fed_fish', 2, **fields)
    rows = _rows({**groups, 'C': [short]})
    kept = {key: row for key, row in rows.items() if key[0] != 'C'}
    np.testing.assert_equal(kept, expected)
    # Bytes: 6 of A, after its last and B's third round. The target is 0.5.
    self.assertEqual(rows['A', _METRIC, result_table.EQUAL_BYTES]['mean'], 0.6)
    self.assertEqual(rows['B', _METRIC, result_table.EQUAL_BYTES]['mean'], 0.3)
    self.assertEqual(
      rows['A', 'simulated/seconds', f'until {_METRIC} is 0.5000']['mean'], 50
    )
    if short.is_finished:
      for key in (
        *((_METRIC, of) for of in (_LAST, _ALL, result_table.EQUAL_BYTES)),
        ('simulated/seconds', f'until {_METRIC} is 0.5000'),
      ):
        row = rows['C', *key]
        self.assertEqual((row['seeds'], row['diverged']), (0, 1), key)
    else:
      self.assertIn(('C', '', ''), rows)

  def test_fine_tuning_is_told_of_the_groups_that_are_shown(self):
    runs = {
      label: [
        dataclasses.replace(
          fake_runs.make_run(), values={'test/personalized/accuracy': 0.5}
        )
      ]
      for label in 'ABC'
    }
    for label, (run,) in runs.items():
      run.config.update(
        client_learning_rate=0.1 * (1 + (label == 'C')),
        evaluation={'personalization_epochs': 1},
      )
    named = fake_runs.named(runs)
    keys = [('test/personalized/accuracy', _LAST)]
    told = result_table.name_groups(named)
    for count in (2, 3):
      table = result_table.make_table(named, keys, told=told[:count])
      differs = any('Fine-tuning differs' in note for note in table.notes)
      self.assertEqual(differs, count == 3)

  @parameterized.parameters((1, '2.000'), (1e-6, '2.000e-06'))
  def test_the_target_of_a_task_of_which_lower_is_better(self, unit, target):
    def run(seconds, values):
      return dataclasses.replace(
        fake_runs.make_run(),
        columns={
          'round': np.arange(1.0, 4),
          'eval/global/error': unit * np.array(values),
          'simulated/seconds': np.arange(1.0, 4) * seconds,
        },
        metric='error',
        higher_is_better=False,
      )

    rows = _rows(
      {'A': [run(10, [9, 2, 1])], 'B': [run(1, [8, 3, 2])]}, metric=None
    )
    # Both reach 2, the worse of the best errors.
    for label, seconds in (('A', 20), ('B', 3)):
      row = rows[
        label, 'simulated/seconds', f'until eval/global/error is {target}'
      ]
      self.assertEqual(row['mean'], seconds)

  def test_columns_of_clients_are_no_results(self):
    run = fake_runs.make_run(evaluated=True)
    with self.assertRaisesRegex(errors.InputError, "got 'after/accuracy'"):
      _make({'A': [run]}, ['after/accuracy'])

  def test_runs_without_the_metric_have_no_results(self):
    run = dataclasses.replace(
      fake_runs.make_run(), columns={'round': np.array([1.0])}
    )
    self.assertEqual(_make({'A': [run]}).rows, [['Method'], ['A']])
