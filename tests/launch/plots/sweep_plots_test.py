# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of choosing the plots of a sweep."""

import contextlib
import io
import math
import pathlib

from launch.configs import sweeps
from launch.plots import sweep_plots
from launch.results import sweep_results
from tests.launch.sweeps import fake_sweeps

from absl.testing import absltest


def _read_groups(folder):
  return sweep_results.group_by_seed(sweep_results.read_results(folder))


class SweepPlotsTest(absltest.TestCase):
  def _plan(self, runs, values):
    path = pathlib.Path(self.create_tempdir().full_path) / 'sweep'
    folder = fake_sweeps.write_sweep(path, runs)
    for run, value in zip(runs, values):
      fake_sweeps.write_result(folder, run, value)
    return folder, *sweep_plots.plan(folder, _read_groups(folder))

  def test_a_grid_of_rates_has_heat_maps(self):
    runs = fake_sweeps.grid(
      ['fed_avg', 'fed_fish'],
      local_epochs=(1, 8),
      client_learning_rate=(0.1, 1.0),
      server_learning_rate=(0.1, 1.0),
    )
    folder, figures, comparisons = self._plan(runs, [i / 16 for i in range(15)])
    self.assertEmpty(comparisons)
    first, second = [figure.keywords for figure in figures.values()]
    self.assertEqual(first['metric'], 'accuracy')
    self.assertEqual(
      first['rates'],
      {
        'fed_avg': {
          (0.1, 0.1): 0.0,
          (0.1, 1.0): 1 / 16,
          (1.0, 0.1): 2 / 16,
          (1.0, 1.0): 3 / 16,
        },
        'fed_fish': {
          (0.1, 0.1): 8 / 16,
          (0.1, 1.0): 9 / 16,
          (1.0, 0.1): 10 / 16,
          (1.0, 1.0): 11 / 16,
        },
      },
    )
    # The run that is not finished is blank.
    self.assertTrue(math.isnan(second['rates']['fed_fish'][1.0, 1.0]))
    with contextlib.redirect_stdout(io.StringIO()):
      sweep_plots.draw(folder, _read_groups(folder))
    for epochs in (1, 8):
      name = f'learning_rates_local_epochs_{epochs}.png'
      self.assertTrue((folder.plots_path / name).exists())

  def test_other_sweeps_compare_methods_in_each_setting(self):
    runs = fake_sweeps.grid(
      ['fed_avg', 'fed_fish'], local_epochs=(1, 8), seed=(0, 1)
    )
    folder, figures, comparisons = self._plan(runs, [0.5] * 7)
    self.assertEmpty(figures)
    by_name = {
      target.name: [workdir.name for workdir in workdirs]
      for target, workdirs in comparisons.items()
    }
    self.assertEqual(list(by_name), ['local_epochs_1', 'local_epochs_8'])
    self.assertEqual(
      by_name['local_epochs_8'],
      [
        'fed_avg-local_epochs_8-seed_0',
        'fed_avg-local_epochs_8-seed_1',
        'fed_fish-local_epochs_8-seed_0',
      ],
    )
    runs = fake_sweeps.grid(['fed_avg', 'fed_fish'], seed=(0, 1))
    folder, _, comparisons = self._plan(runs, [0.5] * 4)
    self.assertEqual(list(comparisons), [folder.plots_path])

  def test_tuned_rates_do_not_part_methods(self):
    rates = {
      ('fed_avg', 1): 0.1,
      ('fed_avg', 8): 0.05,
      ('fed_fish', 1): 0.5,
      ('fed_fish', 8): 0.05,
    }
    runs = fake_sweeps.plan(
      [
        sweeps.Run(
          variant,
          {
            'local_epochs': epochs,
            'client_learning_rate': rate,
            'server_learning_rate': 10 * rate,
            'seed': seed,
          },
        )
        for (variant, epochs), rate in rates.items()
        for seed in (0, 1)
      ]
    )
    _, figures, comparisons = self._plan(runs, [0.5] * 8)
    self.assertEmpty(figures)
    self.assertEqual(
      [
        (target.name, len(workdirs)) for target, workdirs in comparisons.items()
      ],
      [('local_epochs_1', 4), ('local_epochs_8', 4)],
    )

  def test_a_grid_of_one_rate_compares_methods_at_each(self):
    runs = fake_sweeps.grid(
      ['fed_avg', 'fed_fish'], client_learning_rate=(0.1, 1.0)
    )
    _, _, comparisons = self._plan(runs, [0.5] * 4)
    self.assertEqual(
      [target.name for target in comparisons],
      ['client_learning_rate_0.1', 'client_learning_rate_1.0'],
    )

  def test_nothing_to_draw(self):
    runs = fake_sweeps.grid(['fed_avg'], seed=(0, 1))
    _, figures, comparisons = self._plan(runs, [])
    self.assertEmpty(figures)
    self.assertEmpty(comparisons)
