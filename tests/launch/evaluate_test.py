# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of launch.evaluate."""

from unittest import mock

from fedfish_tff import trust
from launch.runs import evaluation_run
from launch.runs import transfer_run
from tests.launch import binary_runner
from tests.launch import small_configs
from tests.launch import trained_runs


class EvaluateTest(small_configs.TestCase):
  def test_evaluates_a_workdir(self):
    workdir = trained_runs.fed_fish_on_digits().copy_to(self.workdir)
    outcome = binary_runner.run_here('launch.evaluate', f'--workdir={workdir}')
    self.assertEqual((outcome.code, outcome.problems), (0, []))
    self.assertIn('model of round 2 of 2, 2 test clients', outcome.stdout)
    self.assertTrue((workdir / 'evaluation' / 'clients.csv').exists())

  @mock.patch.object(evaluation_run, 'evaluate', autospec=True)
  def test_flags_reach_the_evaluation(self, evaluate):
    binary_runner.run_here(
      'launch.evaluate',
      *('--workdir=w', '--split=validation', '--export', '--at=best'),
      *('--trust_modules', '--trust_saved_models'),
    )
    evaluate.assert_called_once_with(
      'w',
      split='validation',
      export=True,
      at='best',
      data_dir=None,
      trust=trust.Trust(saved_models=True, json_modules=True, is_json=True),
    )

  @mock.patch.object(transfer_run, 'evaluate_transfer', autospec=True)
  def test_flags_reach_the_evaluation_of_transfer(self, evaluate):
    binary_runner.run_here(
      'launch.evaluate',
      *('--workdir=w', '--targets=c4,cc_news=d/news', '--at=last'),
      *('--max_clients=7', '--data_dir=d/c4'),
    )
    evaluate.assert_called_once_with(
      'w',
      {'c4': None, 'cc_news': 'd/news'},
      at=('last',),
      max_clients=7,
      split='test',
      data_dir='d/c4',
      trust=trust.NONE,
    )
