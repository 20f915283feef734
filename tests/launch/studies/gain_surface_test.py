# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The surface of FedFish's gain, on runs with known differences."""

import itertools
import pathlib

from tests.launch import binary_runner

from absl.testing import absltest
import numpy as np
import pandas as pd

_SEEDS = 8


def _runs():
  rng = np.random.default_rng(0)
  return pd.DataFrame(
    [
      {
        'variant': variant,
        'task.alpha': alpha,
        'local_epochs': epochs,
        'seed': seed,
        'test/global/accuracy': rng.uniform(),
        'aggregator/effective_clients_mean': rng.uniform(1, 5),
      }
      for variant, alpha, epochs, seed in itertools.product(
        ('fed_avg,server=sgd', 'diagnosed,server=sgd'),
        (0.1, 1.0),
        (1, 4),
        range(_SEEDS),
      )
    ]
  ).sample(frac=1, random_state=0)


class GainSurfaceTest(absltest.TestCase):
  def test_equals_numpy(self):
    runs = _runs()
    gain_surface = binary_runner.load('launch.studies.gain_surface')
    cells = gain_surface.measure(runs, cohort_size=5)
    p = {}
    for cell, row in cells.iterrows():
      of = runs[
        (runs['task.alpha'] == cell[0]) & (runs['local_epochs'] == cell[1])
      ].sort_values('seed')
      fish, average = (
        of[of['variant'] == f'{name},server=sgd']
        for name in ('diagnosed', 'fed_avg')
      )
      accuracies = [
        m['test/global/accuracy'].to_numpy() for m in (fish, average)
      ]
      differences = accuracies[0] - accuracies[1]
      self.assertAlmostEqual(row['gain'], differences.mean())
      self.assertAlmostEqual(
        row['effective'],
        fish['aggregator/effective_clients_mean'].mean() / 5,
      )
      means = [
        np.mean(differences * signs)
        for signs in itertools.product((-1, 1), repeat=_SEEDS)
      ]
      p[cell] = np.mean(np.abs(means) >= abs(differences.mean()) - 1e-12)
    # Holm's: the smallest counts four times, and none falls below an earlier.
    highest = 0.0
    for factor, cell in zip((4, 3, 2, 1), sorted(p, key=p.get)):
      highest = max(highest, min(1.0, factor * p[cell]))
      self.assertAlmostEqual(cells.loc[cell, 'p'], highest)

  def test_writes_figure_and_table(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    _runs().to_csv(folder / 'runs.csv')
    outcome = binary_runner.run_here(
      'launch.studies.gain_surface',
      f'--runs={folder}/runs.csv',
      f'--output_dir={folder}/plots',
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    self.assertLen(pd.read_csv(folder / 'plots' / 'gain_surface.csv'), 4)
    self.assertTrue((folder / 'plots' / 'gain_surface.png').exists())

  def test_other_tables_are_refused(self):
    path = self.create_tempfile(content='a,b\n1,2\n').full_path
    outcome = binary_runner.run_here(
      'launch.studies.gain_surface',
      f'--runs={path}', '--output_dir=plots',
    )  # fmt: skip
    self.assertEqual(outcome.code, 2)
    self.assertIn('must have the column task.alpha', outcome.stderr)
