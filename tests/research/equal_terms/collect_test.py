# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of collecting the raw tables from the folders of sweeps."""

import pathlib

from fedfish_tff import errors
from launch.configs import sweeps
from tests.launch import binary_runner
from tests.launch.sweeps import fake_sweeps

from absl.testing import absltest
import pandas as pd

collect = binary_runner.load('research.equal_terms.collect')
_ROUNDS = """\
round,eval/{0}/accuracy,communication/wire_bytes_total,\
compute/local_steps_total,simulated/seconds
1,,10,2,1.5
2,0.5,20,4,2.5
"""


class CollectTest(absltest.TestCase):
  def _write(
    self, variants, values, *, judged_by='global', own='global', fixed=None
  ):
    """Returns the folder of a sweep of two seeds for each variant."""
    fixed = fixed or {}
    runs = fake_sweeps.plan(
      [
        run
        for variant, rate in variants.items()
        for run in sweeps.grid(
          [variant],
          {'seed': (0, 1)},
          fixed={**fixed, 'client_learning_rate': rate},
        )
      ]
    )
    folder, _ = fake_sweeps.write_results(
      self,
      runs,
      values,
      judged_by=judged_by,
      test=0.75,
      more_test={
        'global/accuracy_worst_tenth': 0.25,
        'new_fine_tuned/accuracy': 0.875,
      },
      more_final={'eval/own_fine_tuned/accuracy': 0.625},
      totals={'wire_bytes': 1e6, 'simulated_seconds': 12.5},
    )
    tried = (0.05, *variants.values())
    fake_sweeps.write_sweep(
      folder.tuning_path,
      fake_sweeps.plan(
        sweeps.grid(
          list(variants),
          {'seed': (100, 101), 'client_learning_rate': tried},
          fixed={'local_epochs': 3},
        )
      ),
    )
    for run in runs[: len(values)]:
      path = pathlib.Path(folder.workdir(run.name)) / 'metrics.csv'
      path.write_text(_ROUNDS.format(own))
    return folder.path

  def test_rows_of_both_questions(self):
    variants = {'fed_avg': 0.1, 'fed_fish': 0.2, 'scaffold': 0.02}
    paths = [
      self._write(variants, [0.5, 0.5, None, 0.5, 0.5, 0.5]),
      self._write(
        {'fed_avg': 0.3},
        [0.5, 0.5],
        judged_by='new_fine_tuned',
        own='own_fine_tuned',
        fixed={
          'evaluation.personalization_epochs': 2,
          'evaluation.personalization_learning_rates': (0.1, 0.25),
        },
      ),
    ]
    runs, rounds = collect.collect(paths)
    self.assertLen(runs, 8)
    self.assertNotIn('index', [*runs, *rounds])
    first = runs.iloc[2]
    self.assertEqual(
      (first['question'], first['method'], first['seed'], first['settings']),
      ('global', 'FedFish', 0, 'client_learning_rate 0.2 (edge)'),
    )
    self.assertEqual(
      runs['settings'].iloc[[0, 4]].tolist(),
      ['client_learning_rate 0.1', 'client_learning_rate 0.02 (edge)'],
    )
    # Words have no ends.
    told = collect._tell({'a.of': 'x'}, {'a.of': ['x', 'y', 'z']})
    self.assertEqual(told, 'of x')
    # What judges is on test clients.
    self.assertEqual(
      (first['score'], first['worst_tenth'], first['steps'], first['bytes']),
      (0.75, 0.25, 7, 1e6),
    )
    own = runs[runs['question'] == 'personal']
    self.assertEqual(list(own['new_clients']), [0.875, 0.875])
    self.assertEqual(list(own['score']), [0.625, 0.625])
    self.assertEqual(set(own['fine_tuning_rates']), {'0.1, 0.25'})
    self.assertEqual(set(runs['fine_tuning_rates'][:6]), {''})
    # Of two tried values, each is an end.
    self.assertEqual(set(own['settings']), {'client_learning_rate 0.3'})
    # Only rounds with an evaluation have a row.
    self.assertEqual(set(rounds['round']), {2})
    self.assertEqual(
      rounds.iloc[0][['score', 'bytes', 'steps', 'seconds']].tolist(),
      [0.5, 20, 4, 2.5],
    )
    self.assertEqual(rounds['question'].value_counts()['personal'], 2)
    outcome = binary_runner.run_here(
      'research.equal_terms.collect',
      f'--sweep_dirs={paths[0]},{paths[1]}',
      f'--output_dir={paths[0]}/tables',
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    written = pd.read_csv(paths[0] / 'tables' / 'equal_terms_runs.csv')
    written = written.fillna({'fine_tuning_rates': ''})
    pd.testing.assert_frame_equal(written, runs, check_dtype=False)

  def test_a_method_joins_tables_whose_sweeps_are_gone(self):
    folder = pathlib.Path(self.create_tempdir())

    def run(path, *more):
      arguments = [f'--sweep_dirs={path}', f'--output_dir={folder}', *more]
      outcome = binary_runner.run_here(
        'research.equal_terms.collect', *arguments
      )
      self.assertEqual(outcome.code, 0, outcome.stderr)
      return pd.read_csv(folder / 'equal_terms_runs.csv')

    both = {'fed_avg': 0.1, 'fed_fish': 0.2}
    first = run(self._write(both, [0.5] * 4))
    # A name with a tuned value.
    for path in folder.iterdir():
      path.write_text(path.read_text().replace('FedFish', 'FedFish 0.1'))
    again = self._write({'fed_fish': 0.3}, [0.25, 0.25])
    extended = run(again, '--extend')
    pd.testing.assert_frame_equal(extended[:2], first[:2])
    self.assertEqual(list(extended['method']), list(first['method']))
    rounds = pd.read_csv(folder / 'equal_terms_rounds.csv')
    self.assertEqual(set(rounds['method']), {'FedAvg', 'FedFish'})
    self.assertEqual(
      set(extended['settings'][2:]), {'client_learning_rate 0.3'}
    )
    self.assertLen(run(again), 2)
    rounds = pd.read_csv(folder / 'equal_terms_rounds.csv')
    self.assertEqual(set(rounds['method']), {'FedFish'})

  def test_each_concentration_of_labels_is_a_task(self):
    paths = [
      self._write({'fed_avg': 0.1}, [0.5, 0.5], fixed={'task.alpha': alpha})
      for alpha in (0.25, 8.0)
    ]
    runs, rounds = collect.collect(paths)
    for table in (runs, rounds):
      self.assertEqual(
        list(table['task'].unique()), ['digits, alpha 0.25', 'digits, alpha 8']
      )

  def test_an_unfinished_sweep_is_refused(self):
    path = self._write({'fed_avg': 0.1}, [0.5])
    with self.assertRaisesRegex(errors.InputError, '1 of 2 runs'):
      collect.collect([path])

  def test_a_method_in_two_sweeps_is_refused(self):
    paths = [self._write({'fed_avg': 0.1}, [0.5, 0.5]) for _ in range(2)]
    with self.assertRaisesRegex(errors.InputError, 'FedAvg, 0 twice'):
      collect.collect(paths)


if __name__ == '__main__':
  absltest.main()
