# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The demo from start to end, small, and once more where it was stopped."""

import pathlib

from tests.launch import binary_runner

from absl.testing import absltest
import pytest

_SMALL = ('--seeds=1', '--rounds=2', '--toy_seeds=1')


class DemoTest(absltest.TestCase):
  def test_both_methods_of_a_seed_differ_in_the_algorithm_alone(self):
    configs = {
      name: config.to_dict()
      for name, config in binary_runner.load('launch.demo').create_configs(
        seeds=2, rounds=7
      )
    }
    self.assertLen(configs, 4)
    for seed in range(2):
      one, other = (
        configs[f'{method}_seed{seed}'] for method in ('fed_avg', 'fed_fish')
      )
      self.assertEqual((one['seed'], one['rounds']), (seed, 7))
      for config in (one, other):
        # The names and what only one of them has.
        del config['algorithm']
      self.assertEqual(one, other)

  @pytest.mark.slow
  def test_trains_compares_draws_and_continues(self):
    folder = pathlib.Path(self.create_tempdir().full_path) / 'demo'
    outcome = binary_runner.run_here(
      'launch.demo', f'--output_dir={folder}', *_SMALL
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    self.assertNotIn('\r', outcome.stderr)
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
    self.assertIn('FedFish', outcome.stdout)
    # Of one seed.
    self.assertIn('No differences are shown', outcome.stdout)
    self.assertNotIn('Traceback', outcome.stderr)

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
      again = binary_runner.run_here(
        'launch.demo',
        f'--output_dir={folder}',
        '--seeds=1',
        '--rounds=2',
        '--toy_seeds=0',
      )
      self.assertEqual(again.code, 0, again.stderr)
      kept = (folder / 'fed_fish_seed0' / 'metrics.csv').read_text()
      self.assertEqual(kept.splitlines(), rows[1])

    with self.subTest('other settings in the same place are refused'):
      other = binary_runner.run_here(
        'launch.demo',
        f'--output_dir={folder}',
        '--seeds=1',
        '--rounds=3',
        '--toy_seeds=0',
      )
      self.assertEqual(other.code, 2)
      self.assertIn('rounds', other.stderr)
