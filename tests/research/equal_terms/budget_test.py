# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the budgets and sweeps of the comparison of all methods."""

import collections

from launch import json_config
from launch.configs import sweeps
from launch.methods import config_checks
from research.equal_terms import ag_news
from research.equal_terms import budget
from research.equal_terms import cifar10
from research.equal_terms import cifar10_personal
from research.equal_terms import digits
from research.equal_terms import emnist
from research.equal_terms import features

from absl.testing import absltest
from absl.testing import parameterized

_PIECES = tuple(
  (f'{task.__name__.rpartition(".")[2]}_{piece}', task, piece)
  for task in (ag_news, cifar10, cifar10_personal, digits, emnist, features)
  for piece in task.sweep.names()
)


def _read(task, run):
  config = task.get_config(run.variant)
  json_config.set_fields(config, dict(run.overrides))
  return config_checks.read(config.to_dict())


class BudgetTest(parameterized.TestCase):
  @parameterized.named_parameters(*_PIECES)
  def test_methods_have_equal_budgets(self, task, piece):
    experiment = task.sweep(piece)
    tried = collections.Counter(run.variant for run in experiment.tuning)
    # FedNCM has one choice of two.
    if tried.pop('fed_ncm,participation=visit_once', None) is not None:
      self.assertEqual(piece, 'closed_forms')
    rates = set(map(len, task.RATES.values()))
    self.assertEqual(
      set(tried.values()), {of * len(sweeps.TUNING_SEEDS) for of in rates}
    )
    judged = collections.Counter(run.variant for run in experiment.runs)
    self.assertEqual(set(judged.values()), {len(budget.SEEDS)})
    self.assertLessEqual(tried.keys(), judged.keys())
    # Methods of other pieces choose among them, too.
    self.assertEqual(
      experiment.fine_tuning_rates, task.RATES['client_learning_rate']
    )
    # What judges has had no part in the choice, and leaves it open.
    for run in experiment.runs:
      self.assertNotIn(run.overrides['seed'], sweeps.TUNING_SEEDS)
      self.assertNoCommonElements(run.overrides, experiment.tuned)

  @parameterized.named_parameters(*_PIECES)
  def test_all_runs_are_valid_and_differ(self, task, piece):
    experiment = task.sweep(piece)
    configs = [
      _read(task, run) for run in (*experiment.tuning, *experiment.runs)
    ]
    self.assertLen({config.key for config in configs}, len(configs))
    for config in configs:
      personal = piece.startswith('personal')
      model = 'fine_tuned' if personal else 'global'
      self.assertIn(config.evaluation.judged_by, ('auto', model))
      answers = config.rounds * config.cohort_size
      if config.participation.name == 'visit_once':
        self.assertEqual(answers, 100, 'Every client comes once.')
      else:
        baseline = task.get_config()
        self.assertEqual(
          answers,
          baseline.rounds * baseline.cohort_size,
          'Methods take equally many answers.',
        )
        self.assertEqual(config.rounds % config.evaluate_every, 0)


if __name__ == '__main__':
  absltest.main()
