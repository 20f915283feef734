# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What runs in the processes of a sweep.

TensorFlow is imported when a function is called, or by the process from which
the sweep forks the others, but not by the sweep itself.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import pathlib
from typing import Any

# The functions below, as jobs name them.
TRAIN = 'launch.sweeps.worker:train'
PLOT = 'launch.sweeps.worker:plot'
# What a run imports: loaded once, then shared by all processes.
PRELOADED = (
  'launch.runs.training_run',
  'launch.runs.evaluation_run',
  'launch.plots.comparison',
)


def train(
  *,
  config: Mapping[str, Any],
  workdir: pathlib.Path,
  data_dir: str | None,
  context_options: Mapping[str, Any],
  is_trained: bool,
  evaluated: bool,
) -> None:
  """Trains and maybe evaluates one run, or what is left of it.

  Args:
    config: Nested mappings.
    workdir: The run's.
    data_dir: Where tasks that read files find them.
    context_options: Of the cohort context.
    is_trained: Whether the run is trained to its end.
    evaluated: Whether to evaluate it.
  """
  # pylint: disable=g-import-not-at-top
  from launch.runs import evaluation_run
  from launch.runs import training_run

  # pylint: enable=g-import-not-at-top
  options = dict(
    workdir=workdir, data_dir=data_dir, context_options=context_options
  )
  if not is_trained:
    training_run.train(config, progress_bar=False, **options)
  if evaluated:
    evaluation_run.evaluate(**options)


def plot(
  *,
  comparisons: Mapping[pathlib.Path, Sequence[pathlib.Path]],
  heat_maps: Sequence[Mapping[str, Any]],
  share_figures: Sequence[Mapping[str, Any]],
  folder: pathlib.Path,
) -> None:
  """Draws a sweep.

  Args:
    comparisons: Workdirs to compare, by the folder for tables and plots.
    heat_maps: Keyword arguments of `sweep_heat_map.plot_heat_map`, each with
      `name`, that of the file.
    share_figures: Those of a sweep over shares, see `sweep_share_plots.plan`.
    folder: Where figures go that are no comparison.
  """
  # pylint: disable=g-import-not-at-top
  from launch.plots import comparison
  from launch.plots import exchange_share
  from launch.plots import run_plots
  from launch.plots import sweep_heat_map
  from launch.plots import sweep_share_plots

  # pylint: enable=g-import-not-at-top
  draw = {
    sweep_share_plots.BY_SHARE: exchange_share.plot_by_share,
    sweep_share_plots.BY_BYTES: exchange_share.plot_by_bytes,
  }
  figures = {}
  for heat_map in heat_maps:
    arguments = dict(heat_map)
    name = arguments.pop('name')
    figures[name] = sweep_heat_map.plot_heat_map(**arguments)
  for figure in share_figures:
    arguments = dict(figure)
    name, kind = arguments.pop('name'), arguments.pop('kind')
    figures[name] = draw[kind](**arguments)
  for path in run_plots.write_figures(figures, folder):
    print(path)
  for target, workdirs in comparisons.items():
    comparison.compare_workdirs(workdirs, target)
