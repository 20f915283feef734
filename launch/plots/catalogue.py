# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The catalogue of the plots of runs.

A plot is a function of labelled frames and a metric, a column of metrics.csv.
It returns figures by the names of their files, or none if the runs lack its
data.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
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
from launch.plots import style
from launch.results import frames as frames_lib

from matplotlib import figure as mpl_figure

# For clients that judge runs, the columns that are drawn in place of the server
# model's.
_OF_CLIENTS = {'unseen': 'own', 'personalized': 'personalized'}
_CLIENTS = (clients.draw_personalization, clients.draw_spread)
Plot = Callable[[frames_lib.Frames, str], Mapping[str, mpl_figure.Figure]]
# The plots of several methods, beside curves, and those of a single run.
OF_METHODS: tuple[Plot, ...] = (barrier.draw, *_CLIENTS)
OF_RUN: tuple[Plot, ...] = (
  curves.draw,
  curves.draw_others,
  *_CLIENTS,
  exchanged_tensors.draw,
  matched_units.draw,
  confusion_matrix.draw,
)


def choose_metric(frames: frames_lib.Frames, metric: str | None) -> str:
  """Returns the column to draw: the requested one or the default.

  Args:
    frames: The runs.
    metric: The requested column; None for the default.

  Returns:
    A column that at least one run has.

  Raises:
    errors.InputError: If no run has the requested column.
  """
  columns = list(frames.rounds)
  if metric is None:
    # A column that judges some runs and that all runs have.
    judged = set(zip(frames.runs['judged_by'], frames.runs['metric']))
    for judged_by, name in sorted(judged, key=str, reverse=True):
      column = f'eval/{_OF_CLIENTS.get(judged_by, "global")}/{name}'
      if judged_by in _OF_CLIENTS and column in columns:
        written = frames.rounds[column].dropna().index.unique('run')
        if len(written) == len(frames.runs):
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
  frames: frames_lib.Frames, metric: str, plots: Iterable[Plot]
) -> dict[str, mpl_figure.Figure]:
  """Returns the figures of all plots that apply, by the names of their files.

  Args:
    frames: The labelled runs.
    metric: A column of metrics.csv.
    plots: The plots.
  """
  figures = {}
  for plot in plots:
    figures |= plot(frames, metric)
  return figures


def write_figures(
  figures: Mapping[str, mpl_figure.Figure],
  folder: str | os.PathLike[str],
  suffix: str = 'png',
) -> list[pathlib.Path]:
  """Writes figures to a folder, which is made if needed; returns their paths.

  Args:
    figures: The figures by the names of their files, without the suffix.
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
  frames = frames_lib.read([workdir])
  figures = draw(frames, choose_metric(frames, None), OF_RUN)
  return write_figures(figures, pathlib.Path(workdir) / 'plots')
