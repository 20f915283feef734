# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of reading and grouping what runs of a sweep have reached."""

from fedfish_tff import simulation
from launch.configs import sweeps
from launch.results import sweep_results
from tests.launch.sweeps import fake_sweeps

from absl.testing import parameterized
import numpy as np
import pandas as pd


class SweepResultsTest(parameterized.TestCase):
  def _results(self, runs, values, **options):
    return fake_sweeps.write_results(self, runs, values, **options)[1]

  def test_reads_runs(self):
    runs = fake_sweeps.grid(['fed_avg'], rounds=(3,), seed=(0, 1))
    results = self._results(runs, [0.25, 'unfinished'], test=None)
    self.assertEqual(list(results['run']), [r.name for r in runs])
    self.assertEqual(list(results['is_finished']), [True, False])
    first = results.iloc[0]
    # All runs have the same rounds.
    self.assertEqual(first['varied'], {'seed': 0})
    self.assertEqual(first['config']['rounds'], 3)
    self.assertEqual(first['metric'], 'accuracy')
    self.assertEqual(first['validation/global/accuracy'], 0.25)
    self.assertEqual(first['csb/accuracy'], 0.25)
    self.assertEqual(first['total/local_steps'], 7)
    # It has diverged, and the other has none yet.
    test = results['test/global/accuracy']
    np.testing.assert_array_equal(test.astype(float), [np.inf, np.nan])

  def test_a_group_has_the_mean_of_its_seeds_if_all_are_finite(self):
    runs = fake_sweeps.grid(['fed_avg', 'fed_fish'], seed=(0, 1, 2))
    results = self._results(runs, [0.1, 0.4, 0.3, 0.5, None, 'unfinished'])
    table = sweep_results.tabulate(results)
    np.testing.assert_allclose(table['validation'], [0.8 / 3, np.nan])
    self.assertEqual(list(table['finished']), [3, 2])

  def test_a_run_that_has_not_begun_has_the_title_of_its_variant(self):
    runs = fake_sweeps.grid(['fed_avg'], local_epochs=(1, 2))
    results = self._results(runs, [0.25, 'unfinished'])
    table = sweep_results.tabulate(results)
    self.assertEqual(list(table['method']), ['FedAvg', 'FedAvg'])

  def test_variants_that_have_not_begun_have_their_names(self):
    runs = fake_sweeps.grid(
      ['fed_avg', 'fed_fish', 'fed_fish,server=adam'], seed=(0, 1)
    )
    results = self._results(runs, [0.25])
    table = sweep_results.tabulate(results)
    names = list(table['name'])
    self.assertLen(set(names), 3)
    self.assertEqual(names[:2], ['FedAvg', 'FedFish'])
    self.assertStartsWith(names[2], 'FedFish, ')
    told, notes = sweep_results.tell_groups(results)
    self.assertEqual(list(told['Method']), names)
    (judged,) = [note for note in notes if note.startswith('Judged by')]
    self.assertNotIn('None', judged)
    self.assertNotIn(' or ', judged)

  def test_rows_that_differ_look_different(self):
    rates = (0.1, 0.1234567, 0.12345674)
    runs = fake_sweeps.grid(['fed_avg'], local_epochs=(1, 2, 3))
    results = self._results(runs, [0.25] * 3)
    results['varied'] = [
      {'task.method': 'x', 'algorithm.strength': rate} for rate in rates
    ]
    told, _ = sweep_results.tell_groups(results)
    self.assertEqual(list(told), ['Method', 'task.method', 'Strength'])
    self.assertStartsWith(told['Method'].iloc[0], 'FedAvg')
    self.assertEqual(list(told['Strength']), list(map(str, rates)))

  def test_a_run_that_has_not_begun_has_the_title_of_its_task(self):
    runs = fake_sweeps.grid(['fed_avg'], seed=(0, 1))
    folder, _ = fake_sweeps.write_results(self, runs, [0.25])
    begun = simulation.Workdir(folder.workdir(runs[0].name))
    summary = begun.read_summary()
    summary['label']['task'] = 'Digits'
    begun.write_summary(summary)
    found = sweep_results.read_results(folder)
    self.assertEqual(list(found['task']), ['Digits', 'Digits'])

  @parameterized.parameters(([0.1, 1.0],), ([[0.1], [1.0]],))
  def test_candidates_of_fine_tuning_that_tuning_sets_are_no_setting(self, of):
    field = 'evaluation.personalization_learning_rates'
    several = isinstance(of[0], list)
    runs = fake_sweeps.plan(
      [
        *sweeps.grid(['fed_avg'], {field: of if several else [of]}),
        *sweeps.grid(['fed_fish'], {'seed': (0,)}),
      ]
    )
    results = self._results(runs, [0.5] * len(runs))
    self.assertEqual(
      {field in varied for varied in results['varied']}, {several}
    )

  def test_what_has_diverged_is_not_judged_by_another(self):
    runs = fake_sweeps.grid(['fed_avg'], client_learning_rate=(0.01, 0.05))
    results = self._results(runs, [0.9, None], judged_by='personalized')
    # The server's model stayed as it was.
    self.assertEqual(results['validation/global/loss'][1], 1.0)
    table = sweep_results.tabulate(results, 'loss')
    self.assertFalse(table['is_best'].any())
    table = sweep_results.tabulate(results)
    self.assertEqual(list(table['is_best']), [True, False])

  @parameterized.parameters((True, 0.05), (False, 0.01))
  def test_the_best_rates(self, higher_is_better, expected):
    runs = fake_sweeps.grid(
      ['fed_avg', 'fed_fish'], client_learning_rate=(0.01, 0.05), seed=(0, 1)
    )
    # The means are 0.45 and 0.5; that of one run with fed_fish diverged.
    values = [0.0, 0.9, 0.5, 0.5, 0.1, 0.1, 0.9, None]
    results = self._results(runs, values, higher_is_better=higher_is_better)
    self.assertTrue(sweep_results.is_tuned(results))
    table = sweep_results.tabulate(results)
    best = table[table['is_best']]
    self.assertEqual(list(best['variant']), ['fed_avg', 'fed_fish'])
    rates = [varied['client_learning_rate'] for varied in best['varied']]
    self.assertEqual(rates, [expected, 0.01])

  @parameterized.parameters('client_learning_rate', 'server_learning_rate')
  def test_groups_that_differ_in_a_rate_are_one_setting(self, rate):
    runs = fake_sweeps.grid(
      ['fed_avg'], **{rate: (0.01, 0.05), 'local_epochs': (1, 2)}, seed=(0, 1)
    )
    results = self._results(runs, [0.1, 0.1, 0.4, 0.4, 0.3, 0.3, 0.2, 0.2])
    self.assertTrue(sweep_results.is_tuned(results))
    table = sweep_results.tabulate(results)
    best = table[table['is_best']]['varied']
    self.assertLen(best, 2)
    self.assertEqual({of['local_epochs'] for of in best}, {1, 2})

  def test_both_rates_are_tuned(self):
    rates = ('client_learning_rate', 'server_learning_rate')
    runs = fake_sweeps.grid(['fed_avg'], **dict.fromkeys(rates, (0.01, 0.05)))
    results = self._results(runs, [0.1, 0.2, 0.4, 0.3])
    table = sweep_results.tabulate(results)
    self.assertEqual(
      [tuple(of[r] for r in rates) for of in table[table['is_best']]['varied']],
      [(0.05, 0.01)],
    )

  def test_each_setting_has_the_direction_of_its_task(self):
    runs = fake_sweeps.grid(
      ['fed_avg', 'fed_fish'], client_learning_rate=(0.01, 0.05)
    )
    of_error = {'metric': 'error', 'higher_is_better': False}
    results = self._results(
      runs, [0.3, 0.5, 0.1, 0.9], each=[{}, {}, of_error, of_error]
    )
    table = sweep_results.tabulate(results)
    best = table[table['is_best']]['varied'].str['client_learning_rate']
    self.assertEqual(list(best), [0.05, 0.01])

  def test_the_best_of_all_groups_is_that_of_a_task(self):
    runs = fake_sweeps.grid(
      ['fed_avg', 'fed_fish'], **{'task.alpha': (0.1, 1.0)}
    )
    results = self._results(runs, [0.3, 0.8, 0.4, 0.7])
    described = sweep_results.describe_groups(results)
    rows = zip(described['method'], described['task.alpha'], described['best'])
    self.assertEqual(
      {row[:2] for row in rows if row[2]},
      {('FedFish', 0.1), ('FedAvg', 1.0)},
    )

  def test_settings_and_rates_without_a_part_in_the_choice_are_named(self):
    runs = fake_sweeps.grid(
      ['fed_avg', 'fed_fish'],
      client_learning_rate=(0.01, 0.05),
      seed=(0, 1, 2),
    )
    values = [*[0.3, 0.3, 0.3], *[0.5, None, 0.5]]
    values += [*[0.4, 0.4, 'unfinished'], *[0.6, None, 0.6]]
    _, notes = sweep_results.tell_groups(self._results(runs, values))
    told = ' '.join(notes)
    self.assertIn(
      'no value has all its seeds finished and finite: FedFish (4 of 6 runs',
      told,
    )
    self.assertIn('has diverged: client_learning_rate 0.05 of FedAvg.', told)
    # All are there.
    _, notes = sweep_results.tell_groups(self._results(runs, [0.3] * 12))
    self.assertNotIn('Not ', ' '.join(notes))

  def test_values_that_are_not_chosen_from_stand_by_method(self):
    rows = [('A', {'x': x}, x == 1.0) for x in (1.0, 0.5, 2.0)]
    rows += [('B', {'x': 0.5, 'y': y}, y == 0) for y in range(3)]
    table = pd.DataFrame(rows, columns=['name', 'tuned', 'is_best'])
    table = table.assign(
      setting=table['name'],
      validation=table['is_best'].map({True: 0.5}),
      runs=2,
      finished=[2, 2, 2, 2, 2, 1],
    )
    diverged, unfinished = sweep_results.tell_without_best(table)
    self.assertEndsWith(
      diverged, 'a run has diverged: x 0.5, 2 of A; x 0.5 and y 1 of B.'
    )
    self.assertEndsWith(
      unfinished, 'a run is not finished: x 0.5 and y 2 of B.'
    )

  def test_one_value_is_no_edge(self):
    table = pd.DataFrame(
      [
        ('A', {'x': 0.1, 'y': 1}, False),
        ('A', {'x': 0.2, 'y': 1}, True),
        ('A', {'x': 0.3, 'y': 1}, False),
        ('B', {'x': 0.1}, False),
        ('B', {'x': 0.2}, True),
        ('C', {'x': 0.2}, True),
      ],
      columns=['name', 'tuned', 'is_best'],
    )
    (told,) = sweep_results.tell_edges(table)
    self.assertEndsWith(told, ': x 0.2 of B.')
    self.assertEmpty(sweep_results.tell_edges(table[:3]))

  @parameterized.parameters(
    ({}, True),
    ({'stopped_at': 4}, False),
    # It ended early, too, and is no result.
    ({'diverged': 4}, True),
  )
  def test_results_are_of_the_last_round_if_all_runs_got_there(
    self, ended, expected
  ):
    runs = fake_sweeps.grid(['fed_avg'], seed=(0, 1))
    results = self._results(runs, [0.3, 0.3], each=[ended])
    _, notes = sweep_results.tell_groups(results)
    self.assertEqual('after the last round' in notes[0], expected)
    self.assertEqual("of each run's model" in notes[0], not expected)
