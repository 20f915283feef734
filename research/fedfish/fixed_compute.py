# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Figure 3 of FedFish: curves at fixed compute (arXiv 2311.10291, section 5).

All settings of a task have the same total of local epochs, so that settings with
more of them per round have fewer rounds.
"""

import itertools
import math

from launch.plots import curves
from launch.plots import panels
from launch.plots import style
from launch.results import column_titles
from launch.results import frames as frames_lib
from launch.results import run_notes
from launch.results import settings as settings_lib

# Larger ratios of rounds need a logarithmic axis.
_ROUNDS_RATIO = 4


@style.styled_for_paper
def plot_fixed_compute(
  settings: frames_lib.Frames, metric: str, *, x: str = 'round'
) -> panels.Drawing | None:
  """Plots a line per method and number of local epochs, a panel per task.

  More than four lines are split: each task has a row of panels, one for each
  number of local epochs.

  Args:
    settings: The result of `views.fixed_compute`.
    metric: A column of metrics.csv.
    x: One of `curves.X_AXES`.

  Returns:
    The figure and its caption; None if no setting has both columns.
  """
  column, x_label, words, unit = curves.X_AXES[x]
  points = curves.read_lines(settings.groups(), column, metric)
  if not points:
    return None
  drawn = settings_lib.describe(settings).loc[list(points)]
  totals = drawn.groupby('task', sort=False)['total_epochs'].last()
  epochs = sorted(set(drawn['local_epochs']))
  most = drawn['task'].value_counts().max()
  split = most > panels.MOST_BANDS and len(epochs) > 1
  looks, entries = panels.series_looks(drawn, by_epochs=not split)
  cells = list(itertools.product(totals.index, epochs if split else [0]))
  figure, axes = panels.new_grid(
    cells, (panels.PAPER_COLUMN, 2.0), columns=len(epochs) if split else 3
  )
  firsts = {}
  for (task, number), axis in zip(cells, axes):
    # At equal compute the panels of a task end at equal steps.
    first = firsts.setdefault(task, axis)
    if first is not axis:
      axis.sharey(first)
      if x != 'round':
        axis.sharex(first)
    shown = drawn[drawn['task'] == task]
    if split:
      shown = shown[shown['local_epochs'] == number]
    logarithmic = panels.draw_lines(
      axis,
      {label: points[label] for label in shown.index},
      looks,
      unit=unit,
      log_ratio=_ROUNDS_RATIO if x == 'round' else math.inf,
    )
    titles = [task] if len(totals) > 1 else []
    if split:
      titles.append(panels.name_epochs(number))
    panels.set_labels(
      axis,
      x_label + ' (logarithmic)' * bool(logarithmic),
      column_titles.title(metric),
      ', '.join(titles),
    )
  panels.limit_shares(axes, metric)
  panels.draw_legend(figure, *entries)
  total = ', '.join(f'{n} ({task})' for task, n in totals.items())
  told = run_notes.tell_lines(len(ys) for _, ys in points.values())
  caption = (
    f'{column_titles.describe(metric)}, against {words}, at fixed '
    f'compute: rounds times local epochs are {total}.'
  )
  runs = settings.runs[settings.runs['label'].isin(drawn.index)]
  note = run_notes.join(
    [
      told,
      run_notes.tell_clients(runs),
      run_notes.tell_starts(runs, [metric]),
      run_notes.tell_fine_tuning(runs, [metric]),
    ]
  )
  return panels.Drawing(figure, f'{caption} {note}')
