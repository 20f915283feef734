# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The catalogue of the plots of runs.

A plot is a function of labelled frames and a metric, a column of metrics.csv.
It returns figures by the names of their files, or none if the runs lack its
data. A layout is one that returns drawings, figures with captions, such as those
of a paper in `research`.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import os
import pathlib

from fedfish_tff import errors
from fedfish_tff import plug_ins
from fedfish_tff import trust
from fedfish_tff.evaluation import metric_names
from fedfish_tff.simulation import files
from launch import plain_text
from launch.plots import barrier
from launch.plots import clients
from launch.plots import curves
from launch.plots import panels
from launch.plots import single_run
from launch.plots import style
from launch.results import frames as frames_lib

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

# The words before a metric in the names of files of `OF_METHODS`, but for curves.
_OF_METRIC = (
  'barrier',
  'personalization',
  'few_shot',
  'client_spread',
  'own_client_spread',
)

Drawings = Mapping[str, panels.Drawing]
# What draws figures with captions in place of the usual ones.
Layout = Callable[[frames_lib.Frames, str], Drawings]


def choose_metric(frames: frames_lib.Frames, metric: str | None) -> str:
  """Returns the column to draw: the requested one or the default.

  At least one run has it.
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

  `metric` is a column of metrics.csv.
  """
  figures = {}
  for plot in plots:
    figures |= plot(frames, metric)
  return figures


def name_figures(metric: str) -> list[str]:
  """Returns all names of files that the plots of several methods can have.

  `metric` is a column of metrics.csv.
  """
  name = metric.rpartition('/')[2]
  names = [f'{metric}_by_{x}' for x in curves.X_AXES]
  return [
    style.slug(n) for n in (*names, *(f'{of}_{name}' for of in _OF_METRIC))
  ]


def write_figures(
  figures: Mapping[str, mpl_figure.Figure],
  folder: str | os.PathLike[str],
  suffix: str = 'png',
) -> list[pathlib.Path]:
  """Writes figures to a folder, which is made if needed; returns their paths.

  Args:
    figures: The figures by the names of their files, without the suffix.
    folder: The folder of the files.
    suffix: One of `style.FORMATS`.
  """
  folder = files.make_folder(folder)
  paths = []
  for name, figure in figures.items():
    paths.append(folder / f'{name}.{suffix}')
    style.save_figure(figure, paths[-1])
  return paths


def plot_workdir(workdir: str | os.PathLike[str]) -> list[pathlib.Path]:
  """Draws one run into its own folder `plots` and returns the paths.

  metrics.csv must have a round.
  """
  frames = frames_lib.read([workdir])
  figures = draw(frames, choose_metric(frames, None), OF_RUN)
  return write_figures(figures, pathlib.Path(workdir) / 'plots')


def load_layout(name: str) -> Layout:
  """Imports the layout that a flag names: package.module:NAME.

  It is a function of labelled runs and a metric, which raises errors.InputError
  if the runs do not suit.
  """
  return plug_ins.load(
    name,
    field='--layout',
    # The name is that of a flag, whatever the runs are.
    trust=trust.PYTHON,
    is_one=callable,
    expected='a function of runs and a metric that returns drawings',
  )


def format_captions(drawings: Drawings) -> str:
  """Returns the captions there are, each after the name of its figure."""
  return plain_text.lines(
    ''.join(
      f'{name}\n{drawing.caption}\n\n'
      for name, drawing in drawings.items()
      if drawing.caption
    )
  )


def has_captions(path: pathlib.Path) -> bool:
  """Returns whether a file begins with the caption of a figure beside it."""
  if not path.is_file():
    return False
  with path.open(encoding='utf-8', errors='replace') as file:
    name = file.readline().rstrip('\n')
  suffixes = {f'.{suffix}' for suffix in style.FORMATS}
  return name in {
    figure.stem for figure in path.parent.iterdir() if figure.suffix in suffixes
  }
