# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The plots that apply to some runs, by the name of their files."""

from collections.abc import Sequence
import hashlib
import os
import pathlib
import re

from fedfish_tff import errors
from fedfish_tff.simulation import files
from launch.plots import barrier
from launch.plots import client_spread
from launch.plots import confusion_matrix
from launch.plots import curves
from launch.plots import exchanged_tensors
from launch.plots import personalization
from launch.plots import style
from launch.results import method_comparison
from launch.results import metric_names
from launch.results import run_reader

from matplotlib import figure as mpl_figure
import numpy as np

# File systems take 255 bytes, of which a temporary name adds some.
_MAX_SLUG = 80
# Of each tensor, how much of it was sent in a round.
_SENT = 'aggregator/sent/'

Figures = dict[str, mpl_figure.Figure]


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


def draw_curves(
  groups: method_comparison.Groups,
  metric: str,
  x_axes: Sequence[str],
  *,
  show_seeds: bool = False,
) -> Figures:
  """Draws the metric against each of `x_axes` that the runs have."""
  figures = {}
  title = style.describe_metric(metric)
  title = _with_task(title, groups)
  for x in x_axes:
    column = curves.X_AXES[x][0]
    runs = [run for group in groups.values() for run in group]
    if any(len(run.series(column, metric)[0]) for run in runs):
      figures[slug(f'{metric}_by_{x}')] = curves.plot_curves(
        groups, metric, x=x, title=title, show_seeds=show_seeds
      )
  return figures


def draw_barriers(groups: method_comparison.Groups, name: str) -> Figures:
  """Draws the barriers in a metric of each pair of methods that have them."""
  figures = {}
  column = f'csb/{name}'
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
      np.stack(method_comparison.common_rounds(one, other, column))
      for one, other in pairs
    ]
    points = np.concatenate(points or [np.empty((3, 0))], axis=1)
    # A round in which a method has diverged cannot be drawn.
    rounds, x, y = points[:, np.isfinite(points).all(axis=0)]
    if len(rounds):
      file_name = slug(f'barrier_{name}_{method}_{baseline}')
      figures[file_name] = barrier.plot_barrier_scatter(
        x,
        y,
        rounds,
        x_label=method,
        y_label=baseline,
        metric=name,
        title=_with_task('Client-server barrier', {method: groups[method]}),
      )
  return figures


def draw_clients(groups: method_comparison.Groups, name: str) -> Figures:
  """Draws the clients of the runs that launch.evaluate has evaluated."""
  tables = {
    label: table
    for label, runs in groups.items()
    if (table := _few_shot_table(runs, name)).size
  }
  spread = {
    label: np.array(values)
    for label, runs in groups.items()
    if (
      values := [
        value
        for run in runs
        for value in method_comparison.client_values(
          run, f'global/{name}'
        ).values()
        if np.isfinite(value)
      ]
    )
  }
  higher = metric_names.higher_is_better(name)
  figures = {}
  if tables:
    figures[slug(f'personalization_{name}')] = (
      personalization.plot_before_after(
        {label: (table[0], table[-1]) for label, table in tables.items()},
        metric=name,
        higher_is_better=higher,
        title=_with_task('Personalisation of held-out clients', groups),
      )
    )
    figures[slug(f'few_shot_{name}')] = personalization.plot_few_shot(
      {
        label: dict(zip(run_reader.FEW_SHOT_COLUMNS, table))
        for label, table in tables.items()
      },
      metric=name,
      title=_with_task('Few-shot personalisation of held-out clients', groups),
    )
  if spread:
    figures[slug(f'client_spread_{name}')] = client_spread.plot_client_spread(
      spread,
      metric=name,
      higher_is_better=higher,
      title=_with_task('Held-out clients, from the worst to the best', groups),
    )
  return figures


def draw_exchange(run: run_reader.Run) -> Figures:
  """Draws what was sent in each round of a run, if its clients choose that."""
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
    title=f'What clients have sent ({run.task})',
  )
  return {'exchanged_tensors': figure}


def draw_confusion(run: run_reader.Run) -> Figures:
  """Draws which classes a finished run confuses, if it has counted them."""
  found = confusion_matrix.read_confusion(run.test or {}, 'global/')
  if found is None:
    return {}
  title = f'Classes of the test data and what they are taken for ({run.task})'
  figure = confusion_matrix.plot_confusion_matrix(*found, title=title)
  return {'confusion_matrix': figure}


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
  groups = run_reader.group_runs([run])
  metric = choose_metric([run], None)
  name = metric.rpartition('/')[2]
  figures = draw_curves(groups, metric, list(curves.X_AXES))
  for column in ('train/loss', f'eval/personalized/{name}', f'csb/{name}'):
    figures.update(draw_curves(groups, column, ['round']))
  figures.update(draw_clients(groups, name))
  figures.update(draw_exchange(run))
  figures.update(draw_confusion(run))
  return write_figures(figures, run.workdir / 'plots', suffix)


def _with_task(title: str, groups: method_comparison.Groups) -> str:
  """Adds the task's name to a title, where there is one task only."""
  tasks = {run.task for runs in groups.values() for run in runs}
  return f'{title} ({tasks.pop()})' if len(tasks) == 1 else title


def slug(text: str) -> str:
  """Returns a file's name for a text, unique even where it is cut short."""
  name = re.sub(r'[^a-z0-9.]+', '_', text.lower()).strip('_')
  if len(name) <= _MAX_SLUG:
    return name
  digest = hashlib.sha256(text.encode()).hexdigest()[:8]
  return f'{name[:_MAX_SLUG]}_{digest}'
