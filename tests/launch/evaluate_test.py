# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of launch.evaluate."""

import os
import pathlib
import subprocess
import sys

from launch.runs import evaluation_run
from launch.runs import transfer_run
from tests import processes
from tests.launch import binary_runner
from tests.launch import small_configs
from tests.launch import trained_runs

from absl.testing import absltest
from absl.testing import parameterized


def _run(*arguments):
  return subprocess.run(
    [sys.executable, '-m', 'launch.evaluate', *arguments],
    capture_output=True,
    text=True,
    check=False,
    env=os.environ | {'PYTHONPATH': os.getcwd()},
    timeout=processes.HANG_SECONDS,
  )


class EvaluateTest(parameterized.TestCase):
  def test_help_teaches(self):
    shown = _run('--help')
    self.assertEqual((shown.returncode, shown.stderr), (0, ''))
    self.assertIn('python -m launch.evaluate --workdir=', shown.stdout)
    for flag in (
      '--workdir',
      '--split',
      '--[no]export',
      '--context',
      '--at',
    ):
      self.assertIn(flag, shown.stdout)

  @parameterized.parameters(
    ((), '--workdir is needed'),
    (('--workdir=w', '--split=train'), '--split=train'),
    (('--workdir=w', 'x'), "Unexpected argument 'x'"),
    (('--workdir=w', '--at=half,last'), '--at=half,last is for'),
    (('--workdir=w', '--max_clients=3'), '--max_clients is for'),
    (('--workdir=w', '--targets=c4', '--export'), '--export is for'),
    (('--workdir=w', '--targets=c4='), "got 'c4='"),
    (('--workdir=w', '--targets==a'), 'NAME or NAME=FOLDER, such'),
    (('--workdir=w', '--targets=c4,c4=a'), 'got c4 twice'),
    (('--workdir=w', '--targets='), '--targets must name one'),
    (
      ('--workdir=w', '--targets=c4', '--at=first'),
      'half,last,best, got first',
    ),
    (('--workdir=/no/such/workdir',), 'There is no workdir /no/such/workdir'),
  )
  def test_bad_input_gets_one_line_and_exit_code_two(self, arguments, message):
    refused = binary_runner.run_here('launch.evaluate', *arguments)
    self.assertEqual((refused.code, refused.stdout), (2, ''))
    self.assertIn(message, refused.stderr)
    self.assertLen(refused.problems, 1)

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
            context='cohort',
            context_options={},
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
            context='cohort',
            context_options={},
            data_dir='d/c4',
          ),
        )
      ],
    )
