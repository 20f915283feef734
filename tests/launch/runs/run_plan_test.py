# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A plan says what a run then does."""

import re
from unittest import mock

from fedfish_tff import errors
from fedfish_tff import simulation
from launch.methods import config_checks
from launch.runs import experiment as experiment_lib
from launch.runs import run_plan
from launch.runs import training_run
from tests.launch import small_configs

from absl.testing import parameterized
import numpy as np
import pandas as pd
import pytest
from sklearn import datasets as sklearn_datasets


def _number(text):
  return int(text.replace(',', ''))


class RunPlanTest(small_configs.TestCase):
  def _plan(self, config, **options):
    """Returns the lines of a plan by name; the workdir stays as it is."""
    before = sorted(self.workdir.rglob('*'))
    text = run_plan.describe(
      config_checks.read(config),
      training_run.RunOptions(**({'workdir': self.workdir} | options)),
    )
    self.assertEqual(sorted(self.workdir.rglob('*')), before)
    self.assertLess(text.count('\n'), 20)
    return dict(re.split('  +', line, maxsplit=1) for line in text.splitlines())

  def test_the_data(self):
    config = small_configs.make_config('fed_avg')
    plan = self._plan(config, workdir='')
    task = experiment_lib.create_task(config_checks.read(config))
    total = 0
    for split in ('train', 'validation', 'test'):
      clients = [
        getattr(task, split).load_client(i)
        for i in getattr(task, split).client_ids
      ]
      sizes = [len(y) for _, y in clients]
      held = [np.unique(y).size for _, y in clients]
      total += sum(sizes)
      self.assertEqual(
        plan[split],
        f'{len(clients)} clients; {sum(sizes):,} examples, {errors.span(sizes)} '
        f'each, median {np.median(sizes):.0f}; '
        f'{np.unique(np.concatenate([y for _, y in clients])).size} classes, '
        f'{errors.span(held)} each',
      )
    self.assertLen(sklearn_datasets.load_digits().target, total)
    self.assertEqual(
      plan['model'], '4 trained tensors, 610 parameters, 2.44 kB'
    )
    self.assertNotIn('workdir', plan)

  @parameterized.parameters(
    ('fed_fish,participation=poisson', 12, 0),
    ('fed_avg,fine_tuning=ft_lp,start=fed3r', 5, 3),
    ('fed_avg,participation=power_of_choice', 2, 0),
  )
  @pytest.mark.thorough
  def test_the_bytes_are_those_of_the_run(self, variant, rounds, first):
    config = small_configs.make_config(variant, rounds=rounds)
    plan = self._plan(config)
    down, up, size, visits = re.fullmatch(
      r'([\d,]+) down and ([\d,]+) up per client and round; (.*) kB in '
      rf'{rounds - first} rounds, ([\d,]+) visits',
      plan['bytes'],
    ).groups()
    small_configs.train(config, self.workdir)
    rows = simulation.read_rows(self.workdir / 'metrics.csv')
    sent = sum(row.get('communication/wire_bytes', 0) for row in rows)
    if 'choice' not in variant:  # Candidates send and receive, too.
      self.assertEqual((_number(down) + _number(up)) * _number(visits), sent)
    self.assertEqual(size, f'{sent / 1e3:.3g}')

  def test_answers_that_come_late(self):
    config = small_configs.make_config(
      'fed_buff,participation=asynchronous',
      rounds=7,
      **{'participation.max_staleness': 1},
    )
    plan = self._plan(config)
    small_configs.train(config, self.workdir)
    rows = simulation.read_rows(self.workdir / 'metrics.csv')[1:]
    lost = sum(row['simulated/lost_clients'] for row in rows)
    self.assertGreater(lost, 0)
    self.assertRegex(
      plan['staleness'],
      rf'median, {max(row["simulated/staleness_largest"] for row in rows):g} at '
      rf'most; {lost:g} answers lost; 2 models kept',
    )

  def test_of_many_rounds_only_the_first_are_counted(self):
    variant = 'fed_buff,participation=asynchronous'
    few = self._plan(small_configs.make_config(variant, rounds=20))
    with mock.patch.object(run_plan, '_MAX_ROUNDS', 20):
      many = self._plan(small_configs.make_config(variant, rounds=10**9))
    for plan, visits in ((few, 20 * 3), (many, 10**9 * 3)):
      self.assertEndsWith(plan['bytes'], f' {visits:,} visits')
    self.assertIn('; about, by the first 20 rounds: ', many['bytes'])
    self.assertEqual(
      many['staleness'].replace(' in the first 20 rounds', ''),
      few['staleness'],
    )
    self.assertNotEqual(many['staleness'], few['staleness'])

  @parameterized.parameters(
    (
      'fed_nova,server=adam',
      'SGD, rate 0.05, 3 local epochs, batches of 7, at most 5 examples per '
      'round, weighted by examples',
      'Adam, rate 0.25',
    ),
    # Clients send a gradient; the closed form has no steps.
    (
      'fed_sgd,server=sgd',
      'batches of 7, at most 5 examples per round, weighted by examples',
      'SGD, rate 0.25',
    ),
    ('fed3r', 'batches of 7, at most 5 examples per round', None),
  )
  def test_what_clients_and_the_server_do(self, variant, clients, server):
    config = small_configs.make_config(
      variant, batch_size=7, max_examples_per_client=5
    )
    if 'client_learning_rate' in config:
      config['client_learning_rate'] = 0.05
    if 'local epochs' in clients:
      config['local_epochs'] = 3
    if server:
      config['server_learning_rate'] = 0.25
    plan = self._plan(config, workdir='')
    self.assertEqual(plan['clients'], clients)
    self.assertEqual(plan.get('server'), server)
    self.assertEqual(
      plan['judged by'],
      'eval/global/accuracy on 2 validation clients; reported on 2 test clients',
    )
    self.assertNotIn('time', plan)

  def test_the_time_of_rounds_that_were_measured(self):
    config = small_configs.make_config('fed_avg', rounds=3, evaluate_every=2)
    small_configs.train(config, self.workdir)
    path = self.workdir / 'metrics.csv'
    table = pd.read_csv(path)
    # The first round has traced.
    table['time/round_seconds'] = [np.nan, 900.0, 1.5, 2.5]
    table['time/evaluation_seconds'] = [np.nan, np.nan, 10.0, 30.0]
    with mock.patch.object(
      simulation,
      'read_rows',
      return_value=[row.dropna().to_dict() for _, row in table.iterrows()],
    ):
      plan = self._plan({**config, 'rounds': 9})
      # Rounds 4 to 9 of 2 s, and evaluations of 20 s in 4, 6, 8 and 9.
      self.assertEqual(
        plan['time'],
        '2 s per round, measured in 2 rounds; about 92 s for the 6 that are left',
      )
      self.assertEqual(
        self._plan(config)['time'], '2 s per round, measured in 2 rounds'
      )

  def test_the_workdir(self):
    config = small_configs.make_config('fed_avg', rounds=4)
    self.assertEndsWith(self._plan(config)['workdir'], 'w: new')
    small_configs.train(config, self.workdir)
    self.assertIn('a finished run', self._plan(config)['workdir'])
    longer = {**config, 'rounds': 8}
    self.assertIn(
      'a run of 4 rounds, which goes on after round 4',
      self._plan(longer)['workdir'],
    )
    (self.workdir / 'summary.json').unlink()
    self.assertIn(
      'a run of 4 rounds, which goes on after round 4',
      self._plan(config)['workdir'],
    )
    self.assertIn('removed', self._plan(config, overwrite=True)['workdir'])
    with self.assertRaisesRegex(errors.InputError, 'differs in seed'):
      self._plan({**config, 'seed': 1})

  def test_cohorts_that_training_decides_on(self):
    plan = self._plan(
      small_configs.make_config(
        'fed_avg,participation=flanp',
        rounds=9,
        cohort_size=8,
        **{'participation.n0': 2, 'participation.rounds_per_stage': 0},
      )
    )
    self.assertRegex(plan['bytes'], '; at most .* in 9 rounds, 72 visits')
