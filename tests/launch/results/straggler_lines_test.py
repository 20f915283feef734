# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Lines of methods with who takes part, and when they reach a score."""

import dataclasses

from launch.results import straggler_lines
from tests.launch.results import fake_runs

from absl.testing import absltest
import numpy as np

_METRIC = 'eval/own/accuracy'


def _read(runs, metric=_METRIC):
  return straggler_lines.read_lines(fake_runs.frames(runs), metric)


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
      [(li.method, li.policy, li.is_before_tuning) for li in lines],
      [
        ('FedAvg+FT', 'uniform', False),
        ('FedAvg', 'uniform', True),
        ('FedAvg+FT', 'FLANP', False),
        ('FedRep', 'SRPFL', False),
      ],
    )
    self.assertEqual({len(line.runs) for line in lines}, {2})
    np.testing.assert_allclose(
      [line.best() for line in lines], [0.805, 0.405, 0.805, 0.905]
    )

  def test_what_makes_another_experiment_is_told(self):
    runs = [
      fake_runs.make_timed_run('fed_rep', local_epochs=11),
      fake_runs.make_timed_run('fed_avg', local_epochs=1),
      fake_runs.make_timed_run('fed_avg', 'flanp', local_epochs=1),
    ]
    runs[2].config['participation']['n0'] = 10
    lines = _read(runs)
    self.assertEqual({line.base for line in lines}, {'FedRep', 'FedAvg'})
    other = fake_runs.make_timed_run('fed_rep', local_epochs=4)
    runs.append(other)
    lines = _read(runs)
    self.assertLen({line.base for line in lines}, 3)
    other.config['local_epochs'] = 11
    other.config['participation']['speeds']['scale'] = 100.0
    lines = _read(runs)
    self.assertLen({line.base for line in lines}, 3)
    runs[-1] = fake_runs.make_timed_run('fed_rep', cohort_size=5)
    self.assertEqual(
      {line.conditions for line in _read(runs)},
      {f'{n} clients per round, exponential speeds' for n in (5, 20)},
    )

  def test_clients_own_models_are_nobody_s_fine_tuned_ones(self):
    lines = _read(
      [fake_runs.make_timed_run('ditto'), fake_runs.make_timed_run('fed_avg')],
      f'{_METRIC}_median',
    )
    self.assertEqual([line.method for line in lines], ['Ditto', 'FedAvg+FT'])

  def test_seeds_without_values_are_left_out_and_counted(self):
    runs = [
      fake_runs.make_timed_run('fed_rep', seed=seed) for seed in (0, 1, 2)
    ]
    runs[0].columns[_METRIC][:] = np.nan
    runs[1].columns[_METRIC][4:] = np.nan
    (line,) = _read(runs)
    self.assertLen(line.runs, 2)
    self.assertEqual(line.values.index[-1], 3)
    self.assertAlmostEqual(line.best(), 0.9 / 2 + 0.015)
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
    self.assertEqual(
      [
        (line.method, line.policy, line.conditions.split()[4], rounds[1])
        for line in lines
        for rounds in [line.points(5.0)[0]]
      ],
      [
        ('FedRep', 'uniform', 'exponential', 10.5),
        ('FedRep', 'uniform', 'dynamic', 40.5),
        ('FedRep', 'SRPFL', 'exponential', 20.5),
        ('LG-FedAvg', 'uniform', 'exponential', 30.5),
        ('LG-FedAvg', 'uniform', 'dynamic', 40.5),
      ],
    )

    def is_lent():
      lines = _read(runs)
      key = ('FedRep', '20 clients per round, dynamic speeds')
      return key in [(line.method, line.conditions) for line in lines]

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
    (line,) = _read(
      [fake_runs.make_timed_run('fed_rep', seed=seed) for seed in (0, 1)]
    )
    # Without the half that was messages, rounds take 5 seconds.
    seconds, values = line.points(100.0)
    np.testing.assert_allclose(seconds, 105 * np.arange(7))
    self.assertEqual(values.shape, (2, 7))

  def test_the_first_time_that_a_score_is_reached(self):
    run = fake_runs.make_timed_run('fed_rep')
    run.columns[_METRIC][:] = [0.1, 0.5, 0.4, 0.6, 0.6, 0.6, 0.6]
    (line,) = _read([run])
    targets = ((0.1, 0), (0.45, 10), (0.5 + 1e-8, 10), (0.55, 30), (0.7, None))
    for target, expected in targets:
      self.assertEqual(line.seconds_to_reach(target, 5.0), expected)

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
    self.assertLen({line.conditions for line in lines}, 1)
    self.assertEqual(
      [[cost for cost in (0, 5, 10) if x.has_cost(cost)] for x in lines],
      [[0], [10], [0, 5, 10], [0, 5, 10]],
    )
    seconds, _ = lines[1].points(10)
    np.testing.assert_allclose(seconds, 70 * np.arange(7))
    table = straggler_lines.format_table(lines, [0, 10])
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
    table = straggler_lines.format_table(lines, [0, 5])
    self.assertEqual(
      [row.split() for row in table.splitlines()[2:]],
      [
        ['FedRep', 'uniform', '1', '6', '0.9000', '30.0', '60.0'],
        ['LG-FedAvg', 'uniform', '1', '6', '0.6000', 'never', 'never'],
        ['FedAvg+FT', 'uniform', '1', '6', '0.8000', '30.0', '60.0'],
        ['FedAvg', 'uniform', '1', '6', '0.4000', 'never', 'never'],
      ],
    )
