# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The surface of FedFish's gain, on runs with known differences."""

import itertools

from tests import temporary_folders
from tests.launch import binary_runner

from absl.testing import parameterized
import numpy as np
import pandas as pd
import pytest

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
        # The first is of a stored sweep, and the last is none of the two.
        (
          'fed_avg,server=sgd,size=results',
          'diagnosed,size=results',
          'fed_avg,server=adam,size=results',
        ),
        # 12 comes last of numbers, and the clients without one after it.
        (12.0, 2.0, None),
        (1, 4),
        range(_SEEDS),
      )
    ]
  ).sample(frac=1, random_state=0)


class GainSurfaceTest(temporary_folders.TestCase):
  def test_equals_numpy(self):
    runs = _runs()
    gain_surface = binary_runner.load('research.fedfish.gain_surface')
    cells = gain_surface.measure(runs, cohort_size=5)
    self.assertEqual(
      list(cells.index), [*itertools.product(('2', '12', 'published'), (1, 4))]
    )
    p = {}
    for cell, row in cells.iterrows():
      alpha = float(cell[0]) if cell[0] != 'published' else np.inf
      of = runs[
        (runs['task.alpha'].fillna(np.inf) == alpha)
        & (runs['local_epochs'] == cell[1])
      ].sort_values('seed')
      fish, average = (
        of[of['variant'] == f'{name},size=results']
        for name in ('diagnosed', 'fed_avg,server=sgd')
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
    # Holm's: the smallest counts six times, and none falls below an earlier.
    highest = 0.0
    for factor, cell in zip((6, 5, 4, 3, 2, 1), sorted(p, key=p.get)):
      highest = max(highest, min(1.0, factor * p[cell]))
      self.assertAlmostEqual(cells.loc[cell, 'p'], highest)

  @pytest.mark.thorough
  def test_writes_figure_and_table(self):
    _runs().to_csv(self.folder / 'runs.csv')
    outcome = binary_runner.run_here(
      'research.fedfish.gain_surface',
      f'--surface=One:5:{self.folder}/runs.csv',
      f'--surface=Other:10:{self.folder}/runs.csv',
      f'--output_dir={self.folder}/plots',
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    table = pd.read_csv(self.folder / 'plots' / 'gain_surface.csv')
    one, other = (part for _, part in table.groupby('data'))
    self.assertLen(one, 6)
    # Of twice the cohort, as many clients are half the share.
    np.testing.assert_allclose(one['effective'], 2 * other['effective'], 1e-4)
    self.assertTrue((self.folder / 'plots' / 'gain_surface.png').exists())

  @parameterized.parameters(
    ('A:5:{path}', 'must have the column task.alpha'),
    ('{path}', 'must be NAME:CLIENTS:PATH'),
    ('A:0:{path}', 'must be NAME:CLIENTS:PATH'),
  )
  def test_others_are_refused(self, surface, expected):
    path = self.create_tempfile(content='a,b\n1,2\n').full_path
    outcome = binary_runner.run_here(
      'research.fedfish.gain_surface',
      f'--surface={surface.format(path=path)}', '--output_dir=plots',
    )  # fmt: skip
    self.assertEqual(outcome.code, 2)
    self.assertIn(expected, outcome.stderr)

  def test_runs_of_one_seed_alone_do_not_count(self):
    runs = _runs()
    lone = (runs['seed'] == 0) & runs['variant'].str.startswith('fed_avg')
    gain_surface = binary_runner.load('research.fedfish.gain_surface')
    cells = gain_surface.measure(runs[~lone], cohort_size=5)
    self.assertEqual(set(cells['seeds']), {_SEEDS - 1})
