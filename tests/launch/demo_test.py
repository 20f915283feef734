# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The demo from start to end, small, and once more where it was stopped."""

import pathlib

from tests.launch import binary_runner

from absl.testing import absltest

_SMALL = ('--seeds=1', '--rounds=2', '--toy_seeds=1')


class DemoTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.runner = binary_runner.BinaryRunner(
      'launch.demo', 'launch.training_run'
    )
    cls.addClassCleanup(cls.runner.close)

  def test_trains_compares_draws_and_continues(self):
    folder = pathlib.Path(self.create_tempdir().full_path) / 'demo'
    outcome = self.runner.run(f'--output_dir={folder}', *_SMALL)
    self.assertEqual(outcome.code, 0, outcome.stderr)
    for name in ('fed_avg_sgd_seed0', 'paper_literal_seed0'):
      self.assertTrue((folder / name / 'summary.json').is_file())
      self.assertTrue((folder / name / 'evaluation' / 'clients.csv').is_file())
    for name in (
      'eval_global_accuracy_by_round.png',
      'barrier_accuracy_fedfish_fedavg.png',
      'comparison.csv',
      'toy_regression.png',
    ):
      self.assertTrue((folder / 'plots' / name).is_file(), name)
    self.assertIn('FedFish - FedAvg', outcome.stdout)
    self.assertNotIn('Traceback', outcome.stderr)

    with self.subTest('both methods started alike'):
      rows = [
        (folder / name / 'metrics.csv').read_text().splitlines()
        for name in ('fed_avg_sgd_seed0', 'paper_literal_seed0')
      ]
      header = rows[0][0].split(',')
      column = header.index('eval/global/loss')
      first = [r[1].split(',')[column] for r in rows]
      self.assertEqual(first[0], first[1])

    with self.subTest('a finished demo is not trained again'):
      again = self.runner.run(
        f'--output_dir={folder}', '--seeds=1', '--rounds=2', '--toy_seeds=0'
      )
      self.assertEqual(again.code, 0, again.stderr)
      kept = (folder / 'paper_literal_seed0' / 'metrics.csv').read_text()
      self.assertEqual(kept.splitlines(), rows[1])

    with self.subTest('other settings in the same place are refused'):
      other = self.runner.run(
        f'--output_dir={folder}', '--seeds=1', '--rounds=3', '--toy_seeds=0'
      )
      self.assertEqual(other.code, 2)
      self.assertIn('rounds', other.stderr)

  def test_bad_input_is_one_line(self):
    for arguments in (('--seeds=0',), ('--rounds=many',), ('--sedes=3',)):
      outcome = self.runner.run(*arguments)
      self.assertEqual(outcome.code, 2)
      self.assertLen(outcome.stderr.splitlines(), 1)


if __name__ == '__main__':
  absltest.main()
