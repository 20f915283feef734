# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The catalogue of the plots of runs.

A plot is a function of labelled frames and a metric, a column of metrics.csv.
It returns figures by the names of their files, or none if the runs lack its
data. Layouts are the figures 3, 4, 5 and 6 of FedFish and figure 3 of SRPFL,
with captions.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import os
import pathlib

from fedfish_tff import errors
from fedfish_tff.evaluation import metric_names
from fedfish_tff.simulation import files
from launch import plain_text
from launch.plots import barrier
from launch.plots import barrier_panels
from launch.plots import clients
from launch.plots import curves
from launch.plots import fixed_compute
from launch.plots import local_epochs
from launch.plots import panels
from launch.plots import single_run
from launch.plots import stragglers
from launch.plots import style
from launch.plots import transfer_panels
from launch.results import frames as frames_lib
from launch.results import method_labels
from launch.results import settings as settings_lib

from matplotlib import figure as mpl_figure

_CLIENTS = (
  clients.draw_personalization,
  clients.draw_spread,
  clients.draw_own_spread,
)
Plot = Callable[[frames_lib.Frames, str], Mapping[str, mpl_figure.Figure]]
# The plots of several methods, and those of a single run.
OF_METHODS: tuple[Plot, ...] = (curves.draw, barrier.draw, *_CLIENTS)
OF_RUN: tuple[Plot, ...] = (
  curves.draw,
  curves.draw_others,
  *_CLIENTS,
  single_run.draw_exchanged_tensors,
  single_run.draw_matched_units,
  single_run.draw_confusion_matrix,
)

Drawings = dict[str, panels.Drawing]

_STRAGGLERS = 'stragglers'
# The layouts that are drawn at fixed rounds and at fixed compute.
_VIEWS = {
  'local_epochs': ('local_epochs', local_epochs.plot_local_epochs),
  'barrier': ('barrier_panels', barrier_panels.plot_barrier_panels),
  'transfer': ('transfer', transfer_panels.plot_transfer),
}
# What each layout needs of the runs.
LAYOUTS = {
  'fixed_compute': (
    'runs of one task with several numbers of local epochs and equal rounds '
    'times local epochs'
  ),
  'local_epochs': (
    'runs of one task with several numbers of local epochs and equal rounds, or '
    'equal rounds times local epochs'
  ),
  'barrier': (
    'barriers in {metric} (evaluation.barrier) of a method and of FedAvg or '
    'FedSGD with the same seeds, rounds and local epochs'
  ),
  'transfer': 'scores of {metric} by launch.evaluate --targets',
  _STRAGGLERS: 'clients with speeds (participation.speeds)',
}


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
    judged = dict.fromkeys(
      f'eval/{judged_by}/{name}'
      for judged_by, name in zip(
        frames.runs['judged_by'], frames.runs['metric']
      )
    )
    of_all = [column for column in judged if _is_of_all(frames, column)]
    if of_all:
      # For some methods the server's model is no model to use.
      return min(of_all, key=lambda column: 'global/' in column)
    evaluated = [
      name
      for name in columns
      if name.startswith('eval/global/') and not metric_names.is_count(name)
    ]
    best = [n for n in evaluated if n.endswith(('/accuracy', '/mse'))]
    return (best + evaluated + ['train/loss'])[0]
  if metric not in columns:
    raise errors.InputError(
      '--metric must be a column of metrics.csv in some workdir, one of '
      f'{", ".join(name for name in columns if name != "round")}, got '
      f'{metric!r}.{errors.suggest(metric, columns)}'
    )
  return metric


def _is_of_all(frames: frames_lib.Frames, column: str) -> bool:
  """Returns whether all runs have written a column of metrics.csv."""
  if column not in frames.rounds:
    return False
  written = frames.rounds[column].dropna().index.unique('run')
  return len(written) == len(frames.runs)


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


def draw_layouts(
  frames: frames_lib.Frames,
  layouts: Sequence[str],
  metric: str,
) -> tuple[Drawings, dict[str, str]]:
  """Returns the drawings of layouts, and the layouts without any.

  Args:
    frames: The labelled runs.
    layouts: The names of layouts from `LAYOUTS`. A single layout must be
      possible; of several, impossible ones are left out.
    metric: A column of metrics.csv.

  Returns:
    The drawings by the names of their files; and, for each layout that is left
    out, what it needs.

  Raises:
    errors.InputError: If the runs do not suit the only layout.
  """
  settings = settings_lib.read_settings(frames)
  drawings, left_out = {}, {}
  for layout in layouts:
    drawn = {
      style.slug(name): drawing
      for name, drawing in _draw(layout, frames, settings, metric)
      if drawing
    }
    if not drawn:
      left_out[layout] = LAYOUTS[layout].format(
        metric=metric.rpartition('/')[2]
      )
    drawings.update(drawn)
  if len(layouts) == 1 and left_out:
    ((layout, needed),) = left_out.items()
    raise errors.InputError(
      f'The layout {layout} must have {needed}, got {_describe(settings)}.'
    )
  return drawings, left_out


def _draw(
  layout: str,
  frames: frames_lib.Frames,
  settings: frames_lib.Frames,
  metric: str,
) -> Iterator[tuple[str, panels.Drawing | None]]:
  """Yields the names and drawings of a layout, None where data lack."""
  compute = settings_lib.fixed_compute(settings)
  if layout == _STRAGGLERS:
    drawings = stragglers.plot_stragglers(frames, metric)
    for conditions, drawing in drawings.items():
      yield f'{layout} {metric} {conditions}', drawing
  elif layout == 'fixed_compute':
    for x in curves.X_AXES:
      drawing = fixed_compute.plot_fixed_compute(compute, metric, x=x)
      yield f'{layout}_{metric}_by_{x}', drawing
  else:
    file_name, plot = _VIEWS[layout]
    name = metric.rpartition('/')[2]
    views = {
      '_fixed_rounds': settings_lib.fixed_rounds(settings),
      '_fixed_compute': compute,
    }
    # Without several local epochs there is one figure for all settings.
    if layout != 'local_epochs' and all(of.runs.empty for of in views.values()):
      views = {'': settings}
    for view, kept in views.items():
      yield f'{file_name}_{name}{view}', plot(kept, name)


def _describe(settings: frames_lib.Frames) -> str:
  told = [
    f'{s.method} on {s.task}, {method_labels.count(s.rounds, "round")}'
    for s in settings_lib.describe(settings).itertuples()
  ]
  return '; '.join(told[:4]) + '; ...' * (len(told) > 4)


def format_captions(drawings: Drawings) -> str:
  """Returns the captions there are, each after the name of its figure."""
  return plain_text.lines(
    ''.join(
      f'{name}\n{drawing.caption}\n\n'
      for name, drawing in drawings.items()
      if drawing.caption
    )
  )
