# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The catalogue of plots: what runs can be drawn as.

A plot is a function of a `Request` that returns figures by the names of their
files, and none where the runs do not hold what it shows.
"""

from collections.abc import Callable
from collections.abc import Sequence
import hashlib
import os
import pathlib
import re
from typing import NamedTuple

from fedfish_tff import errors
from fedfish_tff.evaluation import metric_names
from fedfish_tff.simulation import files
from launch.plots import barrier
from launch.plots import client_spread
from launch.plots import confusion_matrix
from launch.plots import curves
from launch.plots import exchanged_tensors
from launch.plots import personalization
from launch.plots import style
from launch.results import method_comparison
from launch.results import run_reader

from matplotlib import figure as mpl_figure
import numpy as np

# File systems take 255 bytes, of which a temporary name adds some.
_MAX_SLUG = 80
# Of each tensor, how much of it was sent in a round.
_SENT = 'aggregator/sent/'

Figures = dict[str, mpl_figure.Figure]


class Request(NamedTuple):
  """What is to be drawn.

  Attributes:
    groups: Runs by label, as `run_reader.group_runs` returns them.
    metric: A column of metrics.csv.
    x_axes: What curves are drawn against, of `curves.X_AXES`.
    show_seeds: Whether curves have a line a seed in place of a band.
  """

  groups: method_comparison.Groups
  metric: str
  x_axes: Sequence[str] = tuple(curves.X_AXES)
  show_seeds: bool = False

  @property
  def name(self) -> str:
    """The metric's name without what it is measured on."""
    return self.metric.rpartition('/')[2]

  @property
  def runs(self) -> list[run_reader.Run]:
    """The runs of all groups."""
    return [run for runs in self.groups.values() for run in runs]

  def title(self, text: str) -> str:
    """Returns a title with the task's name, where there is one task only."""
    tasks = {run.task for run in self.runs}
    return f'{text} ({tasks.pop()})' if len(tasks) == 1 else text


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
    evaluated = [
      name
      for name in columns
      if name.startswith('eval/global/') and not metric_names.is_count(name)
    ]
    preferred = [
      name for name in evaluated if name.endswith(('/accuracy', '/mse'))
    ]
    return (preferred + evaluated + ['train/loss'])[0]
  if metric not in columns:
    raise errors.InputError(
      f'--metric={metric} is no column of metrics.csv in any workdir; there '
      f'are: {", ".join(name for name in columns if name != "round")}.'
    )
  return metric


def draw_curves(request: Request) -> Figures:
  """The metric against each of `x_axes` that the runs have."""
  figures = {}
  metric = request.metric
  for x in request.x_axes:
    column = curves.X_AXES[x][0]
    if any(len(run.series(column, metric)[0]) for run in request.runs):
      figures[slug(f'{metric}_by_{x}')] = curves.plot_curves(
        request.groups,
        metric,
        x=x,
        title=request.title(style.describe_metric(metric)),
        show_seeds=request.show_seeds,
      )
  return figures


def draw_other_curves(request: Request) -> Figures:
  """What else a run has measured, against rounds."""
  figures = {}
  name = request.name
  for column in ('train/loss', f'eval/personalized/{name}', f'csb/{name}'):
    figures |= draw_curves(request._replace(metric=column, x_axes=['round']))
  return figures


def draw_barriers(request: Request) -> Figures:
  """The barriers in a metric of each pair of methods that have them."""
  figures = {}
  groups, name = request.groups, request.name
  for method, baseline in method_comparison.method_pairs(groups):
    # Rounds of other lengths have barriers of other heights.
    epochs = {
      groups[label][0].config.get('local_epochs')
      for label in (method, baseline)
    }
    if len(epochs) > 1:
      continue
    pairs = method_comparison.common_seeds(groups, method, baseline)
    points = [
      np.stack(method_comparison.common_rounds(one, other, f'csb/{name}'))
      for one, other in pairs
    ]
    points = np.concatenate(points or [np.empty((3, 0))], axis=1)
    # A round in which a method has diverged cannot be drawn.
    rounds, x, y = points[:, np.isfinite(points).all(axis=0)]
    if len(rounds):
      file_name = slug(f'barrier_{name}_{method}_{baseline}')
      one = request._replace(groups={method: groups[method]})
      figures[file_name] = barrier.plot_barrier_scatter(
        x,
        y,
        rounds,
        x_label=method,
        y_label=baseline,
        metric=name,
        title=one.title('Client-server barrier'),
      )
  return figures


def draw_personalization(request: Request) -> Figures:
  """What fine-tuning does to the clients that launch.evaluate has scored."""
  tables = {
    label: table
    for label, runs in request.groups.items()
    if (table := _few_shot_table(runs, request.name)).size
  }
  if not tables:
    return {}
  return {
    slug(f'personalization_{request.name}'): personalization.plot_before_after(
      {label: (table[0], table[-1]) for label, table in tables.items()},
      metric=request.name,
      higher_is_better=metric_names.higher_is_better(request.name),
      title=request.title('Personalisation of held-out clients'),
    ),
    slug(f'few_shot_{request.name}'): personalization.plot_few_shot(
      {
        label: dict(zip(run_reader.FEW_SHOT_COLUMNS, table))
        for label, table in tables.items()
      },
      metric=request.name,
      title=request.title('Few-shot personalisation of held-out clients'),
    ),
  }


def draw_client_spread(request: Request) -> Figures:
  """How evenly models serve the clients that launch.evaluate has scored."""
  column = f'global/{request.name}'
  scores = {
    label: np.array(values)
    for label, runs in request.groups.items()
    if (
      values := [
        value
        for run in runs
        for value in method_comparison.client_values(run, column).values()
        if np.isfinite(value)
      ]
    )
  }
  if not scores:
    return {}
  figure = client_spread.plot_client_spread(
    scores,
    metric=request.name,
    higher_is_better=metric_names.higher_is_better(request.name),
    title=request.title('Held-out clients, from the worst to the best'),
  )
  return {slug(f'client_spread_{request.name}'): figure}


def draw_exchange(request: Request) -> Figures:
  """What was sent in each round of a run, if its clients choose that."""
  (run,) = request.runs
  sent = {
    name.removeprefix(_SENT): values
    for name, values in run.columns.items()
    if name.startswith(_SENT)
  }
  # The initial model has no round that something is sent in.
  kept = np.any([np.isfinite(values) for values in sent.values()], axis=0)
  if not np.any(kept):
    return {}
  exchange = run.config.get('exchange', {})
  by_weight = exchange.get('selection') == 'coordinates'
  figure = exchanged_tensors.plot_exchanged_tensors(
    {name: values[kept] for name, values in sent.items()},
    run.columns['round'][kept],
    what=(
      'Share of its weights that clients sent'
      if by_weight
      else 'Share of the clients that sent it'
    ),
    title=request.title('What clients have sent'),
  )
  return {'exchanged_tensors': figure}


def draw_confusion(request: Request) -> Figures:
  """Which classes a finished run confuses, if it has counted them."""
  (run,) = request.runs
  found = confusion_matrix.read_confusion(run.test, 'global/')
  if found is None:
    return {}
  title = request.title('Classes of the test data and what they are taken for')
  figure = confusion_matrix.plot_confusion_matrix(*found, title=title)
  return {'confusion_matrix': figure}


_CLIENTS = (draw_personalization, draw_client_spread)
# The plots of several methods, and those of a single run.
OF_METHODS = (draw_curves, draw_barriers, *_CLIENTS)
OF_RUN = (
  draw_curves,
  draw_other_curves,
  *_CLIENTS,
  draw_exchange,
  draw_confusion,
)


def draw(
  request: Request,
  plots: Sequence[Callable[[Request], Figures]] = OF_METHODS,
) -> Figures:
  """Returns the figures of all plots that apply, by the names of their files.

  Args:
    request: What is to be drawn.
    plots: Functions of this module.
  """
  return {
    name: figure for plot in plots for name, figure in plot(request).items()
  }


def _few_shot_table(runs: Sequence[run_reader.Run], name: str) -> np.ndarray:
  """Returns finite scores [shares, clients] of the clients with all of them."""
  columns = [
    f'{column}/{name}' for column in run_reader.FEW_SHOT_COLUMNS.values()
  ]
  rows = [
    [client[column] for column in columns]
    for run in runs
    for client in (run.clients or {}).values()
    if all(np.isfinite(client.get(column, np.nan)) for column in columns)
  ]
  return np.array(rows, np.float64).reshape(-1, len(columns)).T


def write_figures(
  figures: Figures, folder: str | os.PathLike[str], suffix: str = 'png'
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


def plot_workdir(
  workdir: str | os.PathLike[str], suffix: str = 'png'
) -> list[pathlib.Path]:
  """Draws one run into its own folder `plots` and returns the paths.

  Args:
    workdir: The workdir, with at least one round in metrics.csv.
    suffix: One of `style.FORMATS`.

  Raises:
    errors.InputError: If the workdir cannot be read or written.
  """
  run = run_reader.read_run(workdir)
  request = Request(run_reader.group_runs([run]), choose_metric([run], None))
  return write_figures(draw(request, OF_RUN), run.workdir / 'plots', suffix)


def slug(text: str) -> str:
  """Returns a file's name for a text, unique even where it is cut short."""
  name = re.sub(r'[^a-z0-9.]+', '_', text.lower()).strip('_')
  if len(name) <= _MAX_SLUG:
    return name
  digest = hashlib.sha256(text.encode()).hexdigest()[:8]
  return f'{name[:_MAX_SLUG]}_{digest}'
