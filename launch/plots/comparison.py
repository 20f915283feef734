# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Plots of several workdirs, and comparisons of their methods in pairs."""

from collections.abc import Mapping
from collections.abc import Sequence
import functools
import os
import pathlib

from fedfish_tff import errors
from fedfish_tff import simulation
from launch import installed
from launch.plots import catalogue
from launch.plots import curves
from launch.plots import run_layouts
from launch.plots import stragglers
from launch.results import frames as frames_lib
from launch.results import method_comparison
from launch.results import method_table
from launch.results import settings as settings_lib
from launch.results import sweep_folder
from launch.results import sweep_page
from launch.results import sweep_results
from launch.results import transfer_table

import pandas as pd

_METHODS_FILE = 'methods.csv'
_COMPARISON_FILE = 'comparison.csv'
_TEST_COMPARISON_FILE = 'test_comparison.csv'
_CAPTIONS_FILE = 'captions.txt'
_TRANSFER_FILE = 'transfer_table.csv'
# Larger tables are only written to files, since a terminal would break them.
_MAX_PRINTED_METHODS = 6
_MAX_PRINTED_COMPARISONS = 60
_MAX_PRINTED_TRANSFERS = 150


def find_workdirs(sweep_dir: str | os.PathLike[str]) -> list[pathlib.Path]:
  """Returns the workdirs of a sweep's finished runs; prints the other runs.

  Args:
    sweep_dir: The folder of launch.sweep.

  Raises:
    errors.InputError: If the folder is not that of a sweep, or no run is
      finished.
  """
  runs = sweep_results.read_results(sweep_folder.SweepFolder(sweep_dir))
  is_finished = runs['is_finished'].astype(bool)
  if not is_finished.any():
    raise errors.InputError(
      f'None of the {len(runs)} runs of {sweep_dir} is finished.'
    )
  others = runs['run'][~is_finished]
  if len(others):
    print(f'Not finished, so not drawn: {", ".join(others)}.')
  return list(runs['workdir'][is_finished])


def compare_workdirs(
  workdirs: Sequence[str | os.PathLike[str]],
  folder: pathlib.Path,
  *,
  metric: str | None = None,
  x_axes: Sequence[str] = tuple(curves.X_AXES),
  file_format: str = 'png',
  show_seeds: bool = False,
  layout: str = 'default',
  communication_seconds: Sequence[float] = stragglers.COMMUNICATION_SECONDS,
) -> dict[pathlib.Path, str]:
  """Writes tables and the plots that apply; prints the paths.

  Small tables are printed, too.
  methods.csv has the results of each method, comparison.csv paired differences,
  test_comparison.csv those on test clients by seed for finished runs, and, with
  the layout transfer, transfer_table.csv its scores.

  Args:
    workdirs: The workdirs of launch.train; those that differ only in the seed
      are pooled.
    folder: The folder for all output; made if it does not exist.
    metric: A column of metrics.csv; None for the usual one.
    x_axes: The x axes of curves, from `curves.X_AXES`.
    file_format: The format of the plots, one of `style.FORMATS`.
    show_seeds: Whether to draw a line for each seed in place of a band.
    layout: `'default'`, one of `run_layouts.LAYOUTS`, or `'all'` for all of
      these.
    communication_seconds: The seconds that messages add to each round in the
      layout of stragglers.

  Returns:
    The captions by the figures' paths; only layouts have captions.

  Raises:
    errors.InputError: If a workdir or the metric cannot be used.
  """
  frames = frames_lib.read(workdirs)
  groups = frames.groups()
  metric = catalogue.choose_metric(frames, metric)
  name = metric.rpartition('/')[2]
  drawings = {}
  if layout != 'default':
    layouts = run_layouts.LAYOUTS if layout == 'all' else [layout]
    drawings = run_layouts.draw_layouts(
      frames, layouts, metric, x_axes, communication_seconds
    )
  folder = simulation.make_folder(folder)
  # Tables come first, so that they are complete even if a plot fails.
  rows = method_table.method_rows(groups, metric)
  _write(folder / _METHODS_FILE, method_table.to_csv(rows))
  if len(rows) <= _MAX_PRINTED_METHODS:
    print(method_table.format_table(rows))
  for file_name, comparisons in (
    (_COMPARISON_FILE, method_comparison.compare_methods(groups, metric)),
    (_TEST_COMPARISON_FILE, method_comparison.compare_test(groups, name)),
  ):
    if comparisons:
      _write(folder / file_name, method_comparison.to_csv(comparisons))
      if len(comparisons) <= _MAX_PRINTED_COMPARISONS:
        print(method_comparison.format_table(comparisons))
  if layout in ('transfer', 'all'):
    scores = transfer_table.transfer_rows(settings_lib.read_settings(frames))
    if len(scores):
      _write(folder / _TRANSFER_FILE, transfer_table.to_csv(scores))
    shown = scores[scores['metric'] == name]
    if 0 < len(shown) <= _MAX_PRINTED_TRANSFERS:
      print(transfer_table.format_table(shown))
  if layout == 'default':
    draw_curves = functools.partial(
      curves.draw, x_axes=x_axes, show_seeds=show_seeds
    )
    plots = [draw_curves, *catalogue.OF_METHODS]
    figures = catalogue.draw(frames, metric, plots)
  else:
    figures = {title: drawing.figure for title, drawing in drawings.items()}
    text = run_layouts.format_captions(drawings)
    _write(folder / _CAPTIONS_FILE, text.encode())
  captions = {title: drawing.caption for title, drawing in drawings.items()}
  paths = catalogue.write_figures(figures, folder, file_format)
  for path in paths:
    print(path)
  without = _without(frames.runs, frames.drawn(metric))
  if without:
    print(f'Without {metric}, so not in its plots: {without}.')
  bare = _without(frames.runs, frames.clients)
  if bare and layout == 'default':
    evaluate = installed.name_commands('launch.evaluate')
    print(
      f'Not evaluated by {evaluate}, so not in the plots of clients: {bare}.'
    )
  return {path: captions.get(name, '') for name, path in zip(figures, paths)}


def write_page(
  sweep_dir: str | os.PathLike[str], drawn: Mapping[pathlib.Path, str]
) -> None:
  """Rewrites a sweep's page with its own and other figures; prints its path.

  Args:
    sweep_dir: The folder of launch.sweep; if it cannot be written, the error is
      printed.
    drawn: The result of `compare_workdirs`, captions by path.
  """
  folder = sweep_folder.SweepFolder(sweep_dir)
  runs = sweep_results.read_results(folder)
  own = (path.resolve() for path in sorted(folder.plots_path.rglob('*.png')))
  inside = folder.path.resolve()
  failures = dict.fromkeys(folder.read_failed(), 'see its log')
  # The same file may have two paths.
  figures = dict.fromkeys(filter(lambda p: p.is_relative_to(inside), own), '')
  figures |= {path.resolve(): caption for path, caption in drawn.items()}
  try:
    print(
      sweep_page.write_page(folder, runs, figures=figures, failures=failures)
    )
  except errors.InputError as error:
    print(error)


def _without(runs: pd.DataFrame, found: pd.DataFrame) -> str:
  """Returns the workdirs of the runs that have no row in another frame."""
  there = runs.index.isin(found.index.get_level_values('run'))
  return ', '.join(map(str, runs['workdir'][~there]))


def _write(path: pathlib.Path, content: bytes) -> None:
  simulation.write_atomically(path, content)
  print(path)
