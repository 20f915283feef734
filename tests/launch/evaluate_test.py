# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of launch.evaluate."""

import pathlib

from launch.runs import evaluation_run
from launch.runs import transfer_run
from tests.launch import binary_runner
from tests.launch import small_configs
from tests.launch import trained_runs

from absl.testing import absltest


class EvaluateTest(absltest.TestCase):
  def test_evaluates_a_workdir(self):
    self.enter_context(small_configs.built_once())
    workdir = trained_runs.fed_fish_on_digits().copy_to(
      pathlib.Path(self.create_tempdir().full_path) / 'w'
    )
    outcome = binary_runner.run_here('launch.evaluate', f'--workdir={workdir}')
    self.assertEqual((outcome.code, outcome.problems), (0, []))
    self.assertIn('model of round 2 of 2, 2 test clients', outcome.stdout)
    self.assertTrue((workdir / 'evaluation' / 'clients.csv').exists())

  def test_flags_reach_the_evaluation(self):
    calls = []

    def fake_evaluate(workdir, **kwargs):
      calls.append((workdir, kwargs))
      return [pathlib.Path('w/plots/a.png')]

    self.enter_context(
      absltest.mock.patch.object(
        evaluation_run, 'evaluate', autospec=True, side_effect=fake_evaluate
      )
    )
    binary_runner.run_here(
      'launch.evaluate',
      '--workdir=w',
      '--split=validation',
      '--export',
      '--at=best',
    )
    self.assertEqual(
      calls,
      [
        (
          'w',
          dict(
            split='validation',
            export=True,
            at='best',
            data_dir=None,
          ),
        )
      ],
    )

  def test_flags_reach_the_evaluation_of_transfer(self):
    calls = []

    def fake_evaluate(workdir, targets, **kwargs):
      calls.append((workdir, targets, kwargs))
      return []

    self.enter_context(
      absltest.mock.patch.object(
        transfer_run,
        'evaluate_transfer',
        autospec=True,
        side_effect=fake_evaluate,
      )
    )
    binary_runner.run_here(
      'launch.evaluate',
      '--workdir=w',
      '--targets=c4,cc_news=d/news',
      '--at=last',
      '--max_clients=7',
      '--data_dir=d/c4',
    )
    self.assertEqual(
      calls,
      [
        (
          'w',
          {'c4': None, 'cc_news': 'd/news'},
          dict(
            at=('last',),
            max_clients=7,
            split='test',
            data_dir='d/c4',
          ),
        )
      ],
    )
