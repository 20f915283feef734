# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the lines, the table and the figure of slow clients."""

import dataclasses

from fedfish_tff import errors
from launch.methods import participation
from research.srpfl import stragglers
from tests.launch import drawn_figures
from tests.launch.results import fake_runs

from absl.testing import absltest
import numpy as np

_METRIC = 'eval/own_fine_tuned/accuracy'
_BEFORE = 'eval/own_global/accuracy'


def _read(runs, metric=_METRIC):
  return stragglers.read_lines(fake_runs.frames(runs), metric)


def _each(lines, *columns):
  """Returns the values of columns of each line."""
  table = lines.drop_duplicates('line')[list(columns)]
  return list(table.itertuples(index=False, name=None))


def _bests(lines):
  rows = stragglers.format_table(lines, []).splitlines()[2:]
  return [float(row.split()[-1]) for row in rows]


def _plot(runs):
  return stragglers.draw(fake_runs.frames(runs), _METRIC)


class StragglerLinesTest(absltest.TestCase):
  def test_one_model_of_all_clients_has_a_line_before_its_tuning(self):
    runs = [
      fake_runs.make_timed_run(algorithm, policy, seed)
      for algorithm, policy in (
        ('fed_avg', 'uniform'),
        ('fed_avg', 'flanp'),
        ('fed_rep', 'srpfl'),
      )
      for seed in (0, 1)
    ]
    untimed = fake_runs.make_run('fed_fish')
    lines = _read([*runs, untimed])
    self.assertEqual(
      _each(lines, 'method', 'policy', 'metric'),
      [
        ('FedAvg+FT', 'uniform', _METRIC),
        ('FedAvg', 'uniform', _BEFORE),
        ('FedAvg+FT', 'FLANP', _METRIC),
        ('FedRep', 'SRPFL', _METRIC),
      ],
    )
    self.assertEqual(set(lines.groupby('line')['run'].nunique()), {2})
    self.assertEqual(_bests(lines), [0.805, 0.405, 0.805, 0.905])

  def test_what_makes_another_experiment_is_told(self):
    runs = [
      fake_runs.make_timed_run('fed_rep', local_epochs=11),
      fake_runs.make_timed_run('fed_avg', local_epochs=1),
      fake_runs.make_timed_run('fed_avg', 'flanp', local_epochs=1),
    ]
    runs[2].config['participation']['n0'] = 10
    lines = _read(runs)
    self.assertEqual(set(lines['base']), {'FedRep', 'FedAvg'})
    other = fake_runs.make_timed_run('fed_rep', local_epochs=4)
    runs.append(other)
    lines = _read(runs)
    self.assertLen(set(lines['base']), 3)
    other.config['local_epochs'] = 11
    other.config['participation']['speeds']['scale'] = 100.0
    lines = _read(runs)
    self.assertLen(set(lines['base']), 3)
    runs[-1] = fake_runs.make_timed_run('fed_rep', cohort_size=5)
    self.assertEqual(
      set(_read(runs)['conditions']),
      {f'at most {n} clients per round, exponential speeds' for n in (5, 20)},
    )

  def test_a_start_makes_another_method(self):
    tuned = fake_runs.make_timed_run('fed_avg')
    tuned.config['fine_tuning'] = {'strategy': 'ft', 'start': {'name': 'fed3r'}}
    lines = _read([fake_runs.make_timed_run('fed3r'), tuned])
    self.assertEqual(set(lines['base']), {'Fed3R', 'Fed3R+FT'})

  def test_clients_own_models_are_nobody_s_fine_tuned_ones(self):
    lines = _read(
      [fake_runs.make_timed_run('ditto'), fake_runs.make_timed_run('fed_avg')],
      f'{_METRIC}_median',
    )
    self.assertEqual(
      _each(lines, 'method', 'metric', 'is_before'),
      [
        ('Ditto', f'{_METRIC}_median', False),
        ('FedAvg+FT', f'{_METRIC}_median', False),
        ('FedAvg', f'{_BEFORE}_median', True),
      ],
    )

  def test_seeds_without_values_are_left_out_and_counted(self):
    runs = [
      fake_runs.make_timed_run('fed_rep', seed=seed) for seed in (0, 1, 2)
    ]
    runs[0].columns[_METRIC][:] = np.nan
    runs[1].columns[_METRIC][4:] = np.nan
    line = _read(runs)
    self.assertEqual(line['run'].nunique(), 2)
    self.assertEqual(line['round'].max(), 3)
    self.assertEqual(_bests(line), [0.9 / 2 + 0.015])
    self.assertEmpty(_read(runs[:1]))
    # Without speeds, and without simulated time.
    runs[2].config['participation']['speeds'] = None
    self.assertEmpty(_read(runs[2:]))
    self.assertEmpty(_read([fake_runs.make_run()]))

  def test_speeds_change_no_training_of_uniform_cohorts(self):
    def timed(algorithm, policy, kind, seed, seconds):
      run = fake_runs.make_timed_run(algorithm, policy, seed, kind=kind)
      run.columns['simulated/seconds'][:] = run.columns['round'] * seconds
      return run

    runs = [
      timed(*what, seed, seconds + seed)
      for *what, seconds in (
        ('fed_rep', 'uniform', 'exponential', 10),
        ('fed_rep', 'srpfl', 'exponential', 20),
        ('lg_fed_avg', 'uniform', 'exponential', 30),
        ('lg_fed_avg', 'uniform', 'dynamic', 40),
      )
      for seed in (0, 1)
    ]
    # Others with its clients have the one clock, but not whom speeds choose.
    lines = _read(runs)
    lines['kind'] = lines['conditions'].str.split().str[-2]
    first = stragglers.at_cost(lines[lines['round'] == 1], 5.0)
    lines['first'] = lines['line'].map(first.groupby('line')['seconds'].mean())
    self.assertEqual(
      _each(lines, 'method', 'policy', 'kind', 'first'),
      [
        ('FedRep', 'uniform', 'exponential', 10.5),
        ('FedRep', 'uniform', 'dynamic', 40.5),
        ('FedRep', 'SRPFL', 'exponential', 20.5),
        ('LG-FedAvg', 'uniform', 'exponential', 30.5),
        ('LG-FedAvg', 'uniform', 'dynamic', 40.5),
      ],
    )

    def is_lent():
      key = ('FedRep', 'at most 20 clients per round, dynamic speeds')
      return key in _each(_read(runs), 'method', 'conditions')

    self.assertTrue(is_lent())
    # Not by a run that ends earlier, of which speeds choose clients, or of
    # others.
    last = runs[-1]
    runs[-1] = dataclasses.replace(
      last, columns={name: c[:3] for name, c in last.columns.items()}
    )
    self.assertFalse(is_lent())
    runs[-1] = last
    for run in runs:
      run.config['participation']['over_selection'] = 0.5
    self.assertFalse(is_lent())
    for run in runs:
      run.config['participation']['over_selection'] = 0.0
    self.assertTrue(is_lent())
    last.config['cohort_size'] = 5
    self.assertFalse(is_lent())

  def test_messages_of_another_cost(self):
    line = _read(
      [fake_runs.make_timed_run('fed_rep', seed=seed) for seed in (0, 1)]
    )
    # Without the half that was messages, rounds take 5 seconds.
    seconds = stragglers.at_cost(line, 100.0)['seconds']
    np.testing.assert_allclose(seconds, 105 * np.repeat(np.arange(7), 2))

  def test_the_first_time_that_a_score_is_reached(self):
    # Half of the three lines reach the best value of the second. The initial
    # model, which has 0.1, does not count.
    targets = ((0.1, '10.0'), (0.45, '10.0'), (0.5 + 1e-8, '10.0'))
    for target, expected in (*targets, (0.55, '30.0'), (0.6, '30.0')):
      run = fake_runs.make_timed_run('fed_rep')
      run.columns[_METRIC][:] = [0.1, 0.5, 0.4, 0.6, 0.6, 0.6, 0.6]
      other = fake_runs.make_timed_run('lg_fed_avg')
      other.columns[_METRIC][:] = target
      third = fake_runs.make_timed_run('ditto')
      third.columns[_METRIC][:] = 0.01
      table = stragglers.format_table(_read([run, other, third]), [5])
      self.assertEqual(table.splitlines()[2].split()[-1], expected)

  def test_messages_that_decide_who_answers_first(self):
    runs = [
      fake_runs.make_timed_run('fed_rep', 'asynchronous', cohort_size=size)
      for size in (1, 1, 20)
    ]
    for run, cost in zip(runs, (0.0, 10.0, 0.0)):
      block = run.config['participation']
      block['speeds']['communication_seconds'] = cost
      block['concurrency'] = 20
    runs[1].columns['simulated/seconds'] *= 7
    lines = _read([*runs[:2], fake_runs.make_timed_run('fed_avg')])
    self.assertEqual(lines['conditions'].nunique(), 1)
    shown = {cost: stragglers.at_cost(lines, cost) for cost in (0, 5, 10)}
    self.assertEqual(
      {cost: set(of['line']) for cost, of in shown.items()},
      {0: {0, 2, 3}, 5: {2, 3}, 10: {1, 2, 3}},
    )
    own = shown[10][shown[10]['line'] == 1]
    np.testing.assert_allclose(own['seconds'], 70 * np.arange(7))
    table = stragglers.format_table(lines, [0, 10])
    row = table.splitlines()[2].split()
    self.assertEqual(
      row[1:], ['asynchronous', '1', '6', '0.9000', '60.0', '420.0']
    )

  def test_table_of_what_half_reach(self):
    lines = _read(
      [
        fake_runs.make_timed_run('fed_rep'),
        fake_runs.make_timed_run('lg_fed_avg'),
        fake_runs.make_timed_run('fed_avg'),
      ]
    )
    table = stragglers.format_table(lines, [0, 5])
    self.assertEqual(
      [row.split() for row in table.splitlines()[2:]],
      [
        ['FedRep', 'uniform', '1', '6', '0.9000', '30.0', '60.0'],
        ['LG-FedAvg', 'uniform', '1', '6', '0.6000', 'never', 'never'],
        ['FedAvg+FT', 'uniform', '1', '6', '0.8000', '30.0', '60.0'],
        ['FedAvg', 'uniform', '1', '6', '0.4000', 'never', 'never'],
      ],
    )

  def test_starts_of_clients_models_set_no_target(self):
    runs = [fake_runs.make_timed_run(of) for of in ('fed_rep', 'fed_avg')]
    table = stragglers.format_table(_read(runs, _BEFORE), [5])
    _, head, *rows = table.splitlines()
    self.assertIn('seconds until 0.400', head)
    self.assertEqual([row.split()[0] for row in rows], ['FedRep', 'FedAvg'])
    starts = _read(runs[:1], _BEFORE)
    self.assertEqual(stragglers.format_table(starts, [5]), '')


class PlotStragglersTest(absltest.TestCase):
  def test_a_row_a_cost_and_a_column_a_task(self):
    runs = [
      fake_runs.make_timed_run(algorithm, policy, seed, task={'name': task})
      for task in ('cifar10', 'emnist_shards')
      for algorithm, policy in (
        ('fed_rep', 'uniform'),
        ('fed_rep', 'srpfl'),
        ('fed_avg', 'uniform'),
      )
      for seed in (0, 1)
    ]
    ((name, (figure, caption)),) = _plot(runs).items()
    self.assertStartsWith(
      name,
      'stragglers_eval_own_fine_tuned_accuracy_at_most_20_clients_per_round',
    )
    self.assertEqual(
      [axis.get_title('left').replace('\n', ' ') for axis in figure.axes],
      [
        'cifar10, messages: 0 s per round',
        'emnist_shards, messages: 0 s per round',
        'cifar10, messages: 10 s per round',
        'emnist_shards, messages: 10 s per round',
        'cifar10, messages: 100 s per round',
        'emnist_shards, messages: 100 s per round',
      ],
    )
    fed_rep, srpfl, tuned, before = figure.axes[4].get_lines()
    np.testing.assert_allclose(fed_rep.get_xdata(), 105 * np.arange(7))
    # One colour a method; who takes part, and what is before, by the line.
    self.assertEqual(fed_rep.get_color(), srpfl.get_color())
    self.assertEqual(tuned.get_color(), before.get_color())
    self.assertNotEqual(fed_rep.get_color(), tuned.get_color())
    styles = [line.get_linestyle() for line in (fed_rep, srpfl, before)]
    self.assertLen(set(styles), 3)
    self.assertEqual(tuned.get_linestyle(), fed_rep.get_linestyle())
    self.assertEqual(
      {text.get_text().strip() for text in figure.legends[0].get_texts()}
      - {''},
      {'FedRep', 'FedAvg', 'uniform', 'SRPFL', 'before fine-tuning'},
    )
    self.assertIn('2 seeds', caption)
    drawn_figures.check_fits(self, figure)

  def test_runs_without_speeds_are_refused(self):
    with self.assertRaisesRegex(errors.InputError, 'clients with speeds'):
      _plot([fake_runs.make_run()])

  def test_everybody_who_may_take_part_has_a_style(self):
    runs = [
      fake_runs.make_timed_run('fed_rep', policy)
      for policy in participation.POLICIES
    ]
    cost = stragglers.COMMUNICATION_SECONDS[1]
    for run in runs:
      block = run.config['participation']
      if block['name'] == 'asynchronous':
        block['speeds']['communication_seconds'] = cost
    self.assertEqual(_read(runs)['line'].nunique(), len(runs))
    for figure, _ in _plot(runs).values():
      for axis, of in zip(figure.axes, stragglers.COMMUNICATION_SECONDS):
        # Another cost would let others answer first.
        self.assertLen(axis.get_lines(), len(runs) - (of != cost))
