# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The demo and its figure from start to end, small."""

import contextlib
import io
import pathlib
from unittest import mock

from fedfish_tff import errors
from launch import demo
from tests import temporary_folders
from tests.launch import binary_runner

from absl.testing import absltest
from absl.testing import parameterized
import pytest


class DemoTest(absltest.TestCase):
  def test_both_methods_of_a_seed_differ_in_the_algorithm_alone(self):
    configs = {name: config.to_dict() for name, config in demo.create_configs()}
    self.assertLen(configs, 6)
    for seed in range(3):
      one, other = (
        configs[f'{method}_seed{seed}'] for method in ('fed_avg', 'fed_fish')
      )
      self.assertEqual((one['seed'], one['rounds']), (seed, 20))
      for config in (one, other):
        # The names and what only one of them has.
        del config['algorithm']
      self.assertEqual(one, other)

  def _run(self, rounds):
    """Runs a small demo here; returns stdout and stderr."""
    small = dict(_SEEDS=1, _ROUNDS=rounds, _TOY_SEEDS=1)
    stdout, stderr = io.StringIO(), io.StringIO()
    with (
      mock.patch.multiple(demo, **small),
      contextlib.redirect_stdout(stdout),
      contextlib.redirect_stderr(stderr),
    ):
      demo.main(['demo'])
    return stdout.getvalue(), stderr.getvalue()

  @pytest.mark.slow
  def test_trains_compares_draws_and_continues(self):
    self.enter_context(contextlib.chdir(self.create_tempdir().full_path))
    folder = pathlib.Path('runs/demo')
    stdout, stderr = self._run(rounds=2)
    self.assertNotIn('\r', stderr)
    for name in ('fed_avg_seed0', 'fed_fish_seed0'):
      self.assertTrue((folder / name / 'summary.json').is_file())
      self.assertTrue((folder / name / 'evaluation' / 'clients.csv').is_file())
    for name in (
      'eval_global_accuracy_by_round.png',
      'barrier_accuracy.png',
      'comparison.csv',
      'toy_regression.png',
    ):
      self.assertTrue((folder / 'plots' / name).is_file(), name)
    self.assertIn('FedFish', stdout)
    # Of one seed.
    self.assertIn('No differences are shown', stdout)
    self.assertNotIn('Traceback', stderr)

    with self.subTest('both methods started alike'):
      rows = [
        (folder / name / 'metrics.csv').read_text().splitlines()
        for name in ('fed_avg_seed0', 'fed_fish_seed0')
      ]
      header = rows[0][0].split(',')
      column = header.index('eval/global/loss')
      first = [r[1].split(',')[column] for r in rows]
      self.assertEqual(first[0], first[1])

    with self.subTest('a finished demo is not trained again'):
      self._run(rounds=2)
      kept = (folder / 'fed_fish_seed0' / 'metrics.csv').read_text()
      self.assertEqual(kept.splitlines(), rows[1])

    with self.subTest('other settings in the same place are refused'):
      with self.assertRaisesRegex(errors.InputError, 'rounds'):
        self._run(rounds=3)


_BINARY = 'launch.toy_figure'


class ToyFigureTest(temporary_folders.TestCase):
  @pytest.mark.slow
  def test_writes_figure_and_barriers(self):
    folder = self.folder / 'plots'
    outcome = binary_runner.run_here(
      _BINARY,
      f'--output_dir={folder}',
      '--seeds=1',
      '--local_epochs=1',
      '--estimator=batch_gradient',
      '--format=svg',
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    self.assertEqual(
      sorted(p.name for p in folder.iterdir()),
      ['toy_regression.csv', 'toy_regression.svg'],
    )
    self.assertIn('median barrier', outcome.stdout)
    self.assertIn('batch gradient', (folder / 'toy_regression.svg').read_text())

  @parameterized.parameters(
    ((),),
    (('--output_dir=/tmp/x', '--estimator=fisher'),),
    (('--output_dir=/tmp/x', '--local_epochs=0'),),
    (('--output_dir=/dev/null/plots', '--seeds=1', '--local_epochs=1'),),
  )
  def test_bad_input_is_one_line(self, arguments):
    outcome = binary_runner.run_here(_BINARY, *arguments)
    self.assertEqual(outcome.code, 2)
    self.assertLen(outcome.problems, 1)
