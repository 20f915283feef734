# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Draws what suits a sweep."""

from collections.abc import Sequence
import functools
import pathlib

from launch.plots import catalogue
from launch.plots import comparison
from launch.plots import request as request_lib
from launch.plots import sweep_heat_map
from launch.plots import sweep_share_plots
from launch.results import run_notes
from launch.results import sweep_folder
from launch.results import sweep_results

# A figure that is to be drawn: a call without arguments.
Figures = dict[str, functools.partial]
# Workdirs to compare, by the folder for tables and plots.
Comparisons = dict[pathlib.Path, list[pathlib.Path]]


def draw(
  folder: sweep_folder.SweepFolder, groups: Sequence[sweep_results.Group]
) -> dict[pathlib.Path, str]:
  """Draws a sweep into its folder of plots; prints the paths.

  Args:
    folder: Of the sweep.
    groups: Its groups.

  Returns:
    Captions, empty where figures say all, by the figures' paths.
  """
  figures, comparisons = plan(folder, groups)
  drawn = {name: figure() for name, figure in figures.items()}
  paths = dict.fromkeys(catalogue.write_figures(drawn, folder.plots_path), '')
  for path in paths:
    print(path)
  for target, workdirs in comparisons.items():
    paths |= comparison.compare_workdirs(workdirs, target)
  return paths


def plan(
  folder: sweep_folder.SweepFolder, groups: Sequence[sweep_results.Group]
) -> tuple[Figures, Comparisons]:
  """Returns the figures of a sweep, by file name, and what it compares.

  A sweep over both learning rates gets heat maps of the validation metric, one
  figure for each value of its other fields, with a panel a variant. One over
  the share of weights that clients send gets its scores against that. Any other
  has its methods compared for each value of the fields that they share.

  Args:
    folder: Of the sweep.
    groups: Its groups.
  """
  if not any(run.is_finished for group in groups for run in group.runs):
    return {}, {}
  if all(_varies(groups, rate) for rate in sweep_results.RATES) and (
    sweep_results.varies_rates(groups)
  ):
    return _plan_heat_maps(groups), {}
  if sweep_share_plots.is_over_shares(groups):
    return sweep_share_plots.plan(groups), {}
  return {}, _plan_comparisons(folder, groups)


def _varies(groups: Sequence[sweep_results.Group], field: str) -> bool:
  return len({repr(group.fields.get(field)) for group in groups}) > 1


def _plan_heat_maps(groups: Sequence[sweep_results.Group]) -> Figures:
  """Returns a figure for each setting but for the variant."""
  figures: dict[str, dict[str, dict[tuple[float, float], float]]] = {}
  drawn: dict[str, list[sweep_results.Group]] = {}
  for group in groups:
    label = _describe(group, ('variant', *sweep_results.RATES))
    rates = tuple(group.runs[0].config[rate] for rate in sweep_results.RATES)
    panels = figures.setdefault(label, {})
    panels.setdefault(group.variant, {})[rates] = group.validation()
    drawn.setdefault(label, []).append(group)
  runs = [run for group in groups for run in group.runs]
  metric = sweep_results.common_metric(runs)
  if metric is None:
    return {}
  title = f'Validation clients after the last round ({runs[0].task})'
  return {
    request_lib.slug(f'learning_rates {label}'): functools.partial(
      sweep_heat_map.plot_heat_map,
      rates=panels,
      metric=metric,
      higher_is_better=sweep_results.best_is_highest(runs),
      title=f'{title}, {label}' if label else title,
      note=run_notes.describe_groups(
        drawn[label],
        'a cell is their mean; crossed where one has diverged or is not '
        'finished',
      ),
    )
    for label, panels in figures.items()
  }


def _plan_comparisons(
  folder: sweep_folder.SweepFolder, groups: Sequence[sweep_results.Group]
) -> Comparisons:
  """Returns workdirs to compare by folder: those of one setting but variant.

  Rates that each setting has one pair of are tuned, and no setting of their
  own.
  """
  without = ('variant',)
  if not sweep_results.varies_rates(groups):
    without += sweep_results.RATES
  targets = {}
  for group in groups:
    label = _describe(group, without)
    target = (
      folder.plots_path / request_lib.slug(label)
      if label
      else folder.plots_path
    )
    targets.setdefault(target, []).extend(
      folder.workdir(run.name) for run in group.runs if run.is_finished
    )
  return {target: workdirs for target, workdirs in targets.items() if workdirs}


def _describe(group: sweep_results.Group, without: Sequence[str]) -> str:
  fields = sweep_results.setting(group, without=without)
  return ', '.join(
    f'{name.rpartition(".")[2].replace("_", " ")} {value}'
    for name, value in fields.items()
  )
