# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The catalogue of plots: what runs can be drawn as.

A plot is a function of a `Request` that returns figures by the names of their
files, and none where the runs do not hold what it shows.
"""

from collections.abc import Callable
from collections.abc import Sequence
import os
import pathlib

from fedfish_tff import errors
from fedfish_tff.evaluation import metric_names
from fedfish_tff.simulation import files
from launch.plots import barrier
from launch.plots import clients
from launch.plots import confusion_matrix
from launch.plots import curves
from launch.plots import exchanged_tensors
from launch.plots import matched_units
from launch.plots import request as request_lib
from launch.plots import style
from launch.results import run_reader

# By whose values decide: whose are drawn, if not the server's.
_OF_CLIENTS = {'unseen': 'own', 'personalized': 'personalized'}
_CLIENTS = (clients.draw_personalization, clients.draw_spread)
# The plots of several methods, and those of a single run.
OF_METHODS = (curves.draw, barrier.draw, *_CLIENTS)
OF_RUN = (
  curves.draw,
  curves.draw_others,
  *_CLIENTS,
  exchanged_tensors.draw,
  matched_units.draw,
  confusion_matrix.draw,
)


def choose_metric(runs: Sequence[run_reader.Run], metric: str | None) -> str:
  """Returns the column to draw: the one asked for, or the default.

  Args:
    runs: The runs.
    metric: A column, or None for the default.

  Returns:
    A column that at least one run has.

  Raises:
    errors.InputError: If no run has the column asked for.
  """
  columns = list(dict.fromkeys(name for run in runs for name in run.columns))
  if metric is None:
    # What some are judged by, and all have.
    of_clients = [
      f'eval/{prefix}/{run.metric}'
      for judged_by, prefix in _OF_CLIENTS.items()
      for run in runs
      if run.judged_by == judged_by
    ]
    for column in of_clients:
      if all(column in run.columns for run in runs):
        return column
    evaluated = [
      name
      for name in columns
      if name.startswith('eval/global/') and not metric_names.is_count(name)
    ]
    best = [n for n in evaluated if n.endswith(('/accuracy', '/mse'))]
    return (best + evaluated + ['train/loss'])[0]
  if metric not in columns:
    raise errors.InputError(
      f'--metric={metric} is no column of metrics.csv in any workdir; there '
      f'are: {", ".join(name for name in columns if name != "round")}.'
    )
  return metric


def draw(
  request: request_lib.Request,
  plots: Sequence[
    Callable[[request_lib.Request], request_lib.Figures]
  ] = OF_METHODS,
) -> request_lib.Figures:
  """Returns the figures of all plots that apply, by the names of their files.

  Args:
    request: What is to be drawn.
    plots: Functions of a request.
  """
  return {
    name: figure for plot in plots for name, figure in plot(request).items()
  }


def write_figures(
  figures: request_lib.Figures,
  folder: str | os.PathLike[str],
  suffix: str = 'png',
) -> list[pathlib.Path]:
  """Writes figures to a folder, made if need be, and returns their paths.

  Args:
    figures: Figures by the name of their file, without the suffix.
    folder: The folder.
    suffix: One of `style.FORMATS`.

  Raises:
    errors.InputError: If the folder or a file cannot be written.
  """
  folder = files.make_folder(folder)
  paths = []
  for name, figure in figures.items():
    paths.append(folder / f'{name}.{suffix}')
    style.save_figure(figure, paths[-1])
  return paths


def plot_workdir(workdir: str | os.PathLike[str]) -> list[pathlib.Path]:
  """Draws one run into its own folder `plots` and returns the paths.

  Args:
    workdir: The workdir, with at least one round in metrics.csv.

  Raises:
    errors.InputError: If the workdir cannot be read or written.
  """
  run = run_reader.read_run(workdir)
  groups = run_reader.group_runs([run])
  request = request_lib.Request(groups, choose_metric([run], None))
  return write_figures(draw(request, OF_RUN), run.workdir / 'plots')
