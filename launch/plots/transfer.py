# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Figure 5 of FedFish: scores on other corpora by share of a client's data.

Scores are zero-shot, few-shot and personalised, always on the same unseen half
of each held-out client, for the half-way and the last model (arXiv 2311.10291,
section 5).
"""

from collections.abc import Iterable
from collections.abc import Sequence

from launch.plots import panels
from launch.plots import paper_style
from launch.plots import style
from launch.results import run_notes
from launch.results import settings as settings_lib
from launch.results import transfer_reader
from launch.results import transfer_table

from matplotlib import axes as mpl_axes
from matplotlib import figure as mpl_figure
import numpy as np
import pandas as pd

# The shift between lines of a panel, so that bars do not hide each other.
_SHIFT = 1.6  # Per cent of a client's data.


@style.styled_for_paper
def plot_transfer(
  settings: settings_lib.Settings, metric: str
) -> paper_style.Drawing | None:
  """Plots a column of panels per target, with rows for R/2 and R.

  Methods differ in colour and marker, local epochs in line style.

  Args:
    settings: The settings.
    metric: A metric of the model, for example `'accuracy'`.

  Returns:
    The figure and its caption; None if no run has been scored.
  """
  points = transfer_table.read_points(settings)
  points = points[points['metric'] == metric]
  if points.empty:
    return None
  panel = ['task', 'at', 'target']
  shown = {key: of for key, of in points.groupby(panel, sort=False)}
  targets = settings_lib.unique(points['target'])
  tasks = settings_lib.unique(points['task'])
  rows = [
    (task, at)
    for task in tasks
    for at in (transfer_reader.HALF, transfer_reader.LAST)
    if any((task, at, target) in shown for target in targets)
  ]
  keys = [(*row, target) for row in rows for target in targets]
  cells = [key if key in shown else None for key in keys]
  columns = list(settings_lib.Setting._fields)
  lines = {
    key: {
      settings_lib.Setting(*s): of
      for s, of in found.groupby(columns, sort=False)
    }
    for key, found in shown.items()
  }
  looks, entries = paper_style.series_looks(
    settings_lib.unique(s for key in filter(None, cells) for s in lines[key])
  )
  figure, axes = panels.new_grid(
    cells, (panels.PAPER_COLUMN, 1.9), columns=len(targets)
  )
  for axis, key in zip(axes, filter(None, cells)):
    task, at, target = key
    for number, (s, of) in enumerate(lines[key].items()):
      means = of.groupby('percent')['mean'].agg(['mean', 'std']).fillna(0)
      _draw_line(
        axis,
        means.index,
        means['mean'],
        (means['mean'] - means['std'], means['mean'] + means['std']),
        number - (len(lines[key]) - 1) / 2,
        looks[s],
      )
    title = f'{task} to {target}' if len(tasks) > 1 else target
    y_label = style.metric_title(metric)
    _set_labels(axis, points['percent'], y_label, f'{title}, round {at}')
  panels.draw_legend(figure, *entries)
  return paper_style.Drawing(figure, _caption(points, settings, metric))


def _draw_line(
  axis: mpl_axes.Axes,
  percents: pd.Series,
  means: pd.Series,
  ends: tuple[pd.Series, pd.Series],
  position: float,
  look: style.Look,
) -> None:
  """Draws means with bars between two ends, beside the panel's other lines."""
  means, low, high = (np.asarray(of, float) for of in (means, *ends))
  axis.errorbar(
    np.asarray(percents) + _SHIFT * position,
    means,
    # Too few clients have no interval and so no bar.
    yerr=np.maximum(0, [means - low, high - means]),
    elinewidth=0.8,
    capsize=1.5,
    **look,
  )


def _set_labels(
  axis: mpl_axes.Axes, percents: Iterable[int], *texts: str
) -> None:
  """Sets up an axis with its label of y, title and subtitle."""
  percents = sorted(set(percents))
  axis.set_xticks(percents, [f'{p} %' for p in percents])
  axis.grid(False, axis='x')
  panels.set_labels(axis, "Share of a client's data", *texts)


def _caption(
  points: pd.DataFrame, settings: settings_lib.Settings, metric: str
) -> str:
  line = [*settings_lib.Setting._fields, 'at', 'target', 'percent']
  caption = (
    f'{style.metric_title(metric)} on held-out clients after fine-tuning on a '
    'share of the data of each, always on the same unseen half; clients of '
    'fewer than 4 examples are left out. R is the last round, R/2 the round '
    'half-way. Points: means over clients, then over '
    f'{run_notes.count_seeds(points.groupby(line).size())}; bars: one standard '
    'deviation over seeds.'
  )
  for (task, target), of in points.groupby(['task', 'target'], sort=False):
    numbers, too_small = (
      run_notes.span(of[name]) for name in ('num_clients', 'num_too_small')
    )
    caption += (
      f' {task} to {target}: {numbers} clients ({too_small} too small).'
    )
  without = [
    str(workdir)
    for frames in settings.values()
    for index, workdir in frames.runs['workdir'].items()
    if index not in frames.transfer.index
  ]
  if without:
    caption += f' Without {transfer_reader.TRANSFER_CSV}: {", ".join(without)}.'
  return caption


@style.styled
def plot_workdir_transfer(
  scores: Sequence[transfer_reader.Score], *, rounds: int, task: str
) -> dict[str, mpl_figure.Figure]:
  """Returns figures of a run by name: a panel per target, a line per round.

  Args:
    scores: The scores of the run.
    rounds: The number of rounds in the run's config.
    task: The task that the model was trained on.
  """
  figures = {}
  of_metrics = pd.DataFrame(scores, columns=transfer_reader.Score._fields)
  for metric, of_metric in of_metrics.groupby('metric', sort=False):
    if metric not in transfer_reader.COUNTS:
      figure = _plot_workdir(of_metric, rounds)
      title = f'Transfer from {task}: mean over held-out clients'
      if np.isfinite(of_metric['low']).any():
        title += ', 95 % intervals'
      panels.set_figure_title(figure, title)
      figures[f'transfer_{metric}'] = figure
  return figures


def _plot_workdir(scores: pd.DataFrame, rounds: int) -> mpl_figure.Figure:
  targets = settings_lib.unique(scores['target'])
  numbers = sorted(set(scores['round']))
  look = style.series_looks([''])['']
  look['markeredgecolor'] = look['color']
  half = look | {'linestyle': (0, (4, 1.2)), 'markerfacecolor': 'white'}
  looks = {n: half if n == rounds // 2 else look for n in numbers}
  figure, axes = panels.new_grid(targets, (3.2, 3.4), columns=len(targets))
  for axis, (target, of) in zip(axes, scores.groupby('target', sort=False)):
    finite = of[np.isfinite(of['mean'])].sort_values('percent', kind='stable')
    for number, line in finite.groupby('round'):
      position = numbers.index(number) - (len(numbers) - 1) / 2
      ends = line['low'], line['high']
      _draw_line(
        axis, line['percent'], line['mean'], ends, position, looks[number]
      )
    one = of.iloc[0]
    _set_labels(
      axis,
      scores['percent'],
      f'{style.metric_title(one["metric"])} on the unseen half',
      target,
      f'{one["num_clients"]} clients, {one["num_too_small"]} too small',
    )
  entries = [panels.entry(f'round {n}', **looks[n]) for n in numbers]
  panels.draw_legend(figure, entries)
  return figure
