# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Draws several workdirs and compares their methods, pair by pair."""

from collections.abc import Sequence
import os
import pathlib

from fedfish_tff import simulation
from launch import method_comparison
from launch import method_table
from launch.plotting import curves
from launch.plotting import run_plots
from launch.plotting import run_reader

_METHODS_FILE = 'methods.csv'
_COMPARISON_FILE = 'comparison.csv'


def compare_workdirs(
  workdirs: Sequence[str | os.PathLike[str]],
  folder: pathlib.Path,
  *,
  metric: str | None = None,
  x_axes: Sequence[str] = tuple(curves.X_AXES),
  file_format: str = 'png',
  show_seeds: bool = False,
) -> None:
  """Writes two tables and the plots that apply; prints what it wrote.

  methods.csv has what each method reached, comparison.csv paired differences.

  Args:
    workdirs: Of launch.train; those that differ by their seed are pooled.
    folder: Where to; made if it does not exist.
    metric: A column of metrics.csv; None for the usual one.
    x_axes: What curves are drawn against, of `curves.X_AXES`.
    file_format: Of the plots, one of `style.FORMATS`.
    show_seeds: Whether to draw a line a seed in place of a band.

  Raises:
    errors.InputError: If a workdir or the metric cannot be used.
  """
  runs = [run_reader.read_run(workdir) for workdir in workdirs]
  groups = run_reader.group_runs(runs)
  metric = run_plots.choose_metric(runs, metric)
  name = metric.rpartition('/')[2]
  folder = simulation.make_folder(folder)
  # The tables first: they are whole even if a plot cannot be drawn.
  rows = method_table.method_rows(groups, metric)
  path = folder / _METHODS_FILE
  simulation.write_atomically(path, method_table.to_csv(rows))
  print(path)
  print(method_table.format_table(rows))
  comparisons = method_comparison.compare_methods(groups, metric)
  if comparisons:
    path = folder / _COMPARISON_FILE
    simulation.write_atomically(path, method_comparison.to_csv(comparisons))
    print(path)
    print(method_comparison.format_table(comparisons))
  figures = run_plots.draw_curves(groups, metric, x_axes, show_seeds=show_seeds)
  figures.update(run_plots.draw_barriers(groups, name))
  figures.update(run_plots.draw_clients(groups, name))
  for path in run_plots.write_figures(figures, folder, file_format):
    print(path)
  without = [
    str(run.workdir) for run in runs if not len(run.series('round', metric)[0])
  ]
  if without:
    print(f'Without {metric}, so not in its plots: {", ".join(without)}.')
  bare = [str(run.workdir) for run in runs if run.clients is None]
  if bare:
    print(
      'Not evaluated by launch.evaluate, so not in the plots of clients: '
      f'{", ".join(bare)}.'
    )
