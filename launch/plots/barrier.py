# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Plots of the client-server barriers of two methods against each other.

As in figure 6 of FedFish (arXiv 2311.10291), the method on the x axis has the
lower barrier where points lie above the line x = y.
"""

from collections.abc import Iterable

from fedfish_tff.evaluation import ranking
from launch.plots import panels
from launch.plots import paper_style
from launch.plots import style
from launch.results import frames as frames_lib
from launch.results import method_comparison
from launch.results import run_notes
from launch.results import settings as settings_lib

from matplotlib import axes as mpl_axes
from matplotlib import colors as mpl_colors
from matplotlib import figure as mpl_figure
from matplotlib import ticker
import numpy as np
import pandas as pd

# The map begins with a strong yellow: a pale one is almost white in print.
_COLORS = mpl_colors.LinearSegmentedColormap.from_list(
  'rounds', ['#f2d96b', '#a59c74', '#5c6a72', '#27466f', '#00204d']
)
_MAX_COLUMNS = 4


def _read_points(
  method: frames_lib.Frames, baseline: frames_lib.Frames, name: str
) -> pd.DataFrame:
  """Returns a point of two barriers for each common seed and round.

  Returns:
    The points, indexed by seed and round: `x`, the method's barrier; `y`, the
    baseline's; and `gain`, the amount by which the method's is lower, 0 for a
    tie.
  """
  column = f'csb/{name}'
  both = {'x': method, 'y': baseline}
  points = pd.concat(
    {axis: of.column(column) for axis, of in both.items()}, axis=1, join='inner'
  )
  # Rounds in which a method has diverged cannot be drawn.
  points = points[np.isfinite(points).all(axis=1)]
  direction = method_comparison.direction(both.values(), column)
  gains = ranking.gains(points['x'], points['y'], **direction)
  return points.assign(gain=gains)


@style.styled
def draw(
  frames: frames_lib.Frames, metric: str
) -> dict[str, mpl_figure.Figure]:
  """Draws a plot for each pair of methods with barriers."""
  figures = {}
  groups, name = frames.groups(), metric.rpartition('/')[2]
  for pair in method_comparison.method_pairs(groups):
    both = [groups[label] for label in pair]
    # Barriers depend on the local epochs per round.
    epochs = {of.runs['config'].iloc[0].get('local_epochs') for of in both}
    points = _read_points(*both, name)
    if len(epochs) == 1 and len(points):
      figure, (axis,) = panels.new_grid([pair], (5.6, 4.9))
      compare_methods(axis, [points[['x', 'y']]], *pair, name)
      shades = {'c': points.index.get_level_values(1), 'cmap': _COLORS}
      image = panels.draw_points(axis, points['x'], points['y'], 34, **shades)
      title = run_notes.name_task('Client-server barrier', both[0].runs)
      axis.set_title(style.wrap_text(title, 4.4, 11))
      ticks = ticker.MaxNLocator(8, integer=True)
      panels.draw_colorbar(image, axis, 'Round', ticks=ticks)
      figures[style.slug('barrier_{}_{}_{}'.format(name, *pair))] = figure
      seeds = run_notes.count_seeds([_count_seeds(points)])
      clients = run_notes.tell_clients(pd.concat([of.runs for of in both]))
      note = f'A point a seed and round, {seeds}. {clients}'
      panels.draw_legend(figure, note=note)
  return figures


def _count_seeds(points: pd.DataFrame) -> int:
  return points.index.get_level_values(0).nunique()


def compare_methods(
  axis: mpl_axes.Axes,
  values: Iterable[np.ndarray],
  method: str,
  baseline: str,
  name: str,
) -> None:
  """Sets up an axis that compares the barriers of two methods."""
  halves = f'lower for {method}', f'lower for {baseline}'
  panels.compare_axes(axis, values, above=halves[0], below=halves[1])
  what = style.metric_title(f'csb/{name}').replace('Barrier', 'barrier')
  y_label = style.wrap_text(f'{baseline}: {what}', panels.cell_width(axis))
  panels.set_labels(axis, f'{method}: {what}', y_label)


@style.styled_for_paper
def plot_barrier_panels(
  settings: settings_lib.Settings, name: str
) -> paper_style.Drawing | None:
  """Plots barriers against the baseline's, with a panel per task and method.

  Points are shaded by round and have a marker for each number of local epochs.

  Args:
    settings: The settings.
    name: The metric of the barriers, for example `'accuracy'`.

  Returns:
    The figure and its caption; None if no two methods have barriers at a common
    seed and round.
  """
  shown = {}
  for s, other in settings_lib.pair_with_baselines(settings):
    points = _read_points(settings[s], settings[other], name)
    if len(points):
      shown.setdefault((s.task, s.method, other.method), {})[s] = points
  if not shown:
    return None
  tasks = settings_lib.unique(task for task, _, _ in shown)
  methods = settings_lib.unique(method for _, method, _ in shown)
  cells, columns = list(shown), 3
  if 1 < len(methods) <= _MAX_COLUMNS:  # One row per task.
    columns = len(methods)
    keys = {key[:2]: key for key in shown}
    cells = [keys.get((task, method)) for task in tasks for method in methods]
  size = panels.PAPER_COLUMN, 2.9 if min(columns, len(cells)) < 3 else 2.3
  figure, axes = panels.new_grid(cells, size, columns=columns)
  drawn = [s for points in shown.values() for s in points]
  markers = paper_style.epoch_markers(s.local_epochs for s in drawn)
  # A shade has the same meaning in all panels.
  shares = len({s.rounds for s in drawn}) > 1
  norm = mpl_colors.Normalize(0, 1 if shares else drawn[0].rounds)
  for axis, (task, method, baseline) in zip(axes, filter(None, cells)):
    # Panels of one task share their range, to be comparable.
    every = [
      p[['x', 'y']]
      for key, points in shown.items()
      for p in points.values()
      if key[0] == task
    ]
    compare_methods(axis, every, method, baseline, name)
    axis.set_title(task if len(tasks) > 1 else '')
    for s, p in shown[task, method, baseline].items():
      image = panels.draw_points(
        axis,
        p['x'],
        p['y'],
        12,
        c=p.index.get_level_values(1) / (s.rounds if shares else 1),
        cmap=_COLORS,
        norm=norm,
        marker=markers[s.local_epochs],
      )
  label = 'Share of the rounds' if shares else 'Round'
  panels.draw_colorbar(image, axes, label, percent=shares, shrink=0.8)
  if len(markers) > 1:
    look = {'linestyle': 'none', 'color': 'white', 'markeredgecolor': style.INK}
    panels.draw_legend(
      figure,
      [
        panels.entry(paper_style.name_epochs(number), marker=marker, **look)
        for number, marker in markers.items()
      ],
    )
  seeds = run_notes.count_seeds(
    _count_seeds(p) for points in shown.values() for p in points.values()
  )
  lines = [
    f'  {task}, {method} against {baseline}, '
    f'{paper_style.name_epochs(s.local_epochs)}: lower for {method} at '
    f'{(p["gain"] > 0).sum()} of {len(p)} points'
    + (f' ({ties} tied)' if (ties := (p['gain'] == 0).sum()) else '')
    for (task, method, baseline), points in shown.items()
    for s, p in points.items()
  ]
  caption = (
    f'Client-server barrier in {name} of the cohorts, a point a seed and '
    f'round, {seeds}; lower is better, so points above the line x = y speak '
    'for the method on the x axis. Shades: rounds; markers: local epochs.\n'
  )
  return paper_style.Drawing(figure, caption + '\n'.join(lines))
