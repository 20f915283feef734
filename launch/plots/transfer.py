# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Plots of scores on other tasks by the share of a client's data.

Scores are zero-shot, few-shot and personalised, always on the same unseen half
of each held-out client.
"""

from collections.abc import Sequence

from fedfish_tff.evaluation import metric_names
from launch.plots import panels
from launch.plots import style
from launch.results import column_titles
from launch.results import run_reader

from matplotlib import figure as mpl_figure
import numpy as np
import pandas as pd

# The shift between lines of a panel, so that bars do not hide each other.
_SHIFT = 1.6  # Per cent of a client's data.
# The columns that tell lines of all panels apart.
_LINE = ['task', 'at', 'target', 'label']


@style.styled
def plot_workdir_transfer(
  scores: Sequence[run_reader.TransferScore], task: str
) -> dict[str, mpl_figure.Figure]:
  """Returns figures of a run by name: a column per target, a row per round.

  Args:
    scores: The rows of transfer.csv of the run.
    task: The task that the model was trained on.
  """
  points = pd.DataFrame(scores, columns=run_reader.TransferScore._fields)
  points = points.assign(
    task=task, label='', method='the model', local_epochs=1, at=points['round']
  )
  points = points[np.isfinite(points['mean'])].sort_values('at', kind='stable')
  figures = {}
  for metric, of in points.groupby('metric', sort=False):
    if not metric_names.is_count(metric):
      figure = plot_points(of, (3.2, 3.0))
      title = f'Transfer from {task}: mean over held-out clients'
      if np.isfinite(of['low']).any():
        title += ', 95 % intervals'
      panels.set_figure_title(figure, title)
      figures[f'transfer_{metric}'] = figure
  return figures


def tell_bars(points: pd.DataFrame) -> str:
  """Returns the meaning of the bars that `plot_points` draws."""
  seeds = points.groupby([*_LINE, 'percent']).size().groupby(_LINE).max()
  told = []
  if (seeds > 1).any():
    told.append('one standard deviation over seeds')
  if (seeds == 1).any():
    told.append('95 % intervals of the mean over clients')
  return ' or, of a single seed, '.join(told)


def plot_points(
  points: pd.DataFrame, size: tuple[float, float]
) -> mpl_figure.Figure:
  """Plots points of one metric: a row per task and round, a column per target.

  Bars of a line are one deviation over seeds, or the intervals of a single seed.

  Args:
    points: A row per run and score: finite ones of the columns of
      `transfer_table.read_points`.
    size: The width and height of a panel in inches.
  """
  tasks, targets = points['task'].unique(), points['target'].unique()
  shown = dict(list(points.groupby(['task', 'at', 'target'], sort=False)))
  ats = points.drop_duplicates(['task', 'at']).groupby('task', sort=False)['at']
  cells = [
    (task, at, target) if (task, at, target) in shown else None
    for task, of in ats
    for at in of
    for target in targets
  ]
  settings = points.drop_duplicates('label').set_index('label')
  looks, entries = panels.series_looks(settings)
  figure, axes = panels.new_grid(cells, size, columns=len(targets))
  percents = sorted(set(points['percent']))
  for axis, (task, at, target) in zip(axes, filter(None, cells)):
    lines = list(shown[task, at, target].groupby('label', sort=False))
    for number, (label, of) in enumerate(lines):
      by_share = of.groupby('percent')
      mean, ends = by_share['mean'].mean(), by_share[['low', 'high']].mean()
      bars = [mean - ends['low'], ends['high'] - mean]
      # A share of which one seed alone is finite has no deviation.
      if by_share.size().max() > 1:
        bars = [by_share['mean'].std()] * 2
      axis.errorbar(
        mean.index + _SHIFT * (number - (len(lines) - 1) / 2),
        mean,
        # Too few clients have no interval and so no bar.
        yerr=np.nan_to_num(bars).clip(0),
        elinewidth=0.8,
        capsize=1.5,
        **looks[label],
      )
    axis.set_xticks(percents, [f'{p} %' for p in percents])
    axis.grid(False, axis='x')
    one = points.iloc[0]
    panels.set_labels(
      axis,
      "Share of a client's data",
      column_titles.title(f'{one.split}/{one.metric}') + ', unseen half',
      f'{f"{task} to " * (len(tasks) > 1)}{target}, round {at}',
    )
  panels.limit_shares(axes, points['metric'].iloc[0])
  panels.draw_legend(figure, *(entries if len(settings) > 1 else ()))
  return figure
