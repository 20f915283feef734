# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Draws the plots that suit a sweep."""

from collections.abc import Collection
import pathlib

from launch.plots import catalogue
from launch.plots import comparison
from launch.plots import exchange_share
from launch.plots import style
from launch.plots import sweep_heat_map
from launch.results import run_notes
from launch.results import sweep_folder
from launch.results import sweep_results

from matplotlib import figure as mpl_figure
import pandas as pd


def draw(
  folder: sweep_folder.SweepFolder, runs: pd.DataFrame
) -> dict[pathlib.Path, str]:
  """Draws a sweep into its folder of plots and prints the paths.

  A sweep over both learning rates gets heat maps of the validation metric, one
  figure for each value of its other fields, with a panel per variant. A sweep
  over the share of weights that clients send gets scores against that share.
  Any other sweep gets comparisons of its methods for each value of the fields
  that they share.

  Args:
    folder: The folder of the sweep.
    runs: The runs; see `sweep_results.read_results`.

  Returns:
    The captions by the figures' paths, empty for figures that need none.
  """
  finished = runs[runs['is_finished'].astype(bool)]
  if finished.empty:
    return {}
  tuned = sweep_results.is_tuned(runs)
  if tuned and all(_varies(runs, rate) for rate in sweep_results.RATES):
    figures = draw_heat_maps(runs)
  elif exchange_share.is_over_shares(runs):
    figures = exchange_share.draw(runs)
  else:
    paths = {}
    for target, workdirs in find_comparisons(folder, runs).items():
      paths |= comparison.compare_workdirs(workdirs, target)
    return paths
  paths = catalogue.write_figures(figures, folder.plots_path)
  for path in paths:
    print(path)
  return dict.fromkeys(paths, '')


def _varies(runs: pd.DataFrame, field: str) -> bool:
  values = {varied.get(field) for varied in runs['varied']}
  return len(values) > 1 and None not in values


def draw_heat_maps(runs: pd.DataFrame) -> dict[str, mpl_figure.Figure]:
  """Returns a figure for each setting without its variant, by file name."""
  judged = sweep_results.judged(runs)
  title = f'Validation clients after the last round ({runs["task"].iloc[0]})'
  figures = {}
  labels = _describe(runs, sweep_results.RATES)
  for label, of in runs.groupby(labels, sort=False):
    table = sweep_results.tabulate(of)
    rates = [table['config'].str[rate] for rate in sweep_results.RATES]
    name = style.slug(f'learning_rates {label}')
    figures[name] = sweep_heat_map.plot_heat_map(
      table.set_index(['variant', *rates])['validation'],
      metric=judged.metric,
      higher_is_better=judged.higher_is_better,
      title=f'{title}, {label}' if label else title,
      note=run_notes.describe_finished(
        of,
        'a cell is their mean; crossed where one has diverged or is not '
        'finished',
      ),
    )
  return figures


def find_comparisons(
  folder: sweep_folder.SweepFolder, runs: pd.DataFrame
) -> dict[pathlib.Path, list[pathlib.Path]]:
  """Returns finished workdirs to compare, by the folder for tables and plots.

  Runs that differ only in the variant or seed are compared. If each setting has
  one pair of learning rates, these are tuned and do not distinguish settings.

  Args:
    folder: The folder of the sweep.
    runs: The runs.
  """
  tuned = sweep_results.is_tuned(runs)
  finished = runs[runs['is_finished'].astype(bool)]
  labels = _describe(finished, () if tuned else sweep_results.RATES)
  return {
    folder.plots_path / style.slug(label): list(of['workdir'])
    for label, of in finished.groupby(labels, sort=False)
  }


def _describe(runs: pd.DataFrame, without: Collection[str]) -> pd.Series:
  """Returns each run's varied fields, without variants and seeds."""
  labels = [
    ', '.join(
      f'{name.rpartition(".")[2].replace("_", " ")} {value}'
      for name, value in varied.items()
      if name != 'seed' and name not in without
    )
    for varied in runs['varied']
  ]
  return pd.Series(labels, runs.index)
