# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Plots of the client-server barriers of two methods against each other.

As in figure 6 of FedFish (arXiv 2311.10291), the method on the x axis has the
lower barrier where points lie above the line x = y.
"""

import itertools

from fedfish_tff.evaluation import ranking
from launch.plots import panels
from launch.plots import style
from launch.results import column_titles
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


def read_points(settings: frames_lib.Frames, name: str) -> pd.DataFrame:
  """Returns a point of two barriers for each seed and round of two settings.

  Args:
    settings: The settings, of which each may have a baseline.
    name: The metric of the barriers, for example `'accuracy'`.

  Returns:
    A row per point, by `label`: the columns of the method's setting;
    `baseline`, the baseline's method; `seed`; `round`; `x`, the method's
    barrier; `y`, the baseline's; and `gain`, the amount by which the method's
    is lower, 0 for a tie.
  """
  column = f'csb/{name}'
  groups, table = settings.groups(), settings_lib.describe(settings)
  found = {}
  for label, other in settings_lib.pair_with_baselines(settings).items():
    both = groups[label], groups[other]
    x, y = (of.column(column) for of in both)
    points = pd.concat({'x': x, 'y': y}, axis=1, join='inner')
    # Rounds in which a method has diverged cannot be drawn.
    points = points[np.isfinite(points).all(axis=1)]
    direction = method_comparison.direction(both, column)
    points = points.assign(
      gain=ranking.gains(points['x'], points['y'], **direction),
      baseline=table.loc[other, 'method'],
      **table.loc[label],
    )
    if len(points):
      found[label] = points.rename_axis(['seed', 'round']).reset_index()
  return pd.concat(found, names=['label']) if found else pd.DataFrame()


def compare_methods(
  axis: mpl_axes.Axes,
  x: np.ndarray,
  y: np.ndarray,
  method: str,
  baseline: str,
  name: str,
) -> None:
  """Sets up an axis that compares the barriers of two methods.

  Args:
    axis: The axis, otherwise empty.
    x: The barriers of the method, to which x is fitted.
    y: The barriers of the baseline, to which y is fitted.
    method: The method's name, for the label of x.
    baseline: The baseline's name, for the label of y.
    name: The metric of the barriers.
  """
  # The axes have the whole labels.
  names = [label.partition(',')[0] for label in (method, baseline)]
  if names[0] == names[1]:
    names = [method, baseline]
  above, below = (f'lower for {name}' for name in names)
  panels.compare_axes(axis, x, y, above=above, below=below)
  what = column_titles.title(f'csb/{name}').replace('Barrier', 'barrier')
  panels.set_labels(axis, f'{method}: {what}', f'{baseline}: {what}')


def draw_panels(
  points: pd.DataFrame,
  name: str,
  size: tuple[float, float],
  point_size: float,
  note: str = '',
) -> mpl_figure.Figure:
  """Draws a panel per task and method; markers tell local epochs.

  Args:
    points: The result of `read_points`.
    name: The metric of the barriers.
    size: The width and height of a panel in inches.
    point_size: The size of a point, in points squared.
    note: A note on the runs.
  """
  tasks, methods = points['task'].unique(), points['method'].unique()
  # A shade has the same meaning in all panels.
  shares = points['rounds'].nunique() > 1
  shades = points['round'] / (points['rounds'] if shares else 1)
  norm = mpl_colors.Normalize(
    *((0, 1) if shares else (shades.min(), shades.max()))
  )
  by_panel = points.assign(shade=shades).groupby(['task', 'method'], sort=False)
  shown = dict(list(by_panel))
  cells, columns = list(shown), 3
  if 1 < len(methods) <= _MAX_COLUMNS:  # One row per task.
    columns = len(methods)
    every = itertools.product(tasks, methods)
    cells = [cell if cell in shown else None for cell in every]
  # Words beside the points need room.
  figure, axes = panels.new_grid(cells, size, columns=columns, least_width=2.1)
  markers = panels.epoch_markers(points['local_epochs'])
  for axis, (task, method) in zip(axes, filter(None, cells)):
    of = shown[task, method]
    baseline = of['baseline'].iloc[0]
    compare_methods(axis, of['x'], of['y'], method, baseline, name)
    axis.set_title(task if len(tasks) > 1 else '')
    for number, p in of.groupby('local_epochs', sort=False):
      image = panels.draw_points(
        axis,
        p['x'],
        p['y'],
        point_size,
        c=p['shade'],
        cmap=_COLORS,
        norm=norm,
        marker=markers[number],
      )
  label = 'Share of the rounds' if shares else 'Round'
  ticks = None if shares else ticker.MaxNLocator(8, integer=True)
  panels.draw_colorbar(image, axes, label, percent=shares, ticks=ticks)
  look = {'linestyle': 'none', 'color': 'white', 'markeredgecolor': style.INK}
  entries = [
    panels.entry(panels.name_epochs(number), marker=marker, **look)
    for number, marker in markers.items()
  ]
  panels.draw_legend(figure, entries if len(markers) > 1 else [], note=note)
  return figure


@style.styled
def draw(
  frames: frames_lib.Frames, metric: str
) -> dict[str, mpl_figure.Figure]:
  """Draws the barriers of each method against those of the baseline."""
  name = metric.rpartition('/')[2]
  settings = settings_lib.read_settings(frames)
  points = read_points(settings, name)
  if points.empty:
    return {}
  pairs = settings_lib.pair_with_baselines(settings)
  drawn = {
    of for one in points.index.unique('label') for of in (one, pairs[one])
  }
  alone = points.groupby(['task', 'method']).ngroups == 1
  seeds = run_notes.count_seeds(points.groupby('label')['seed'].nunique())
  pooling = f'One point per seed and round, {seeds}'
  without = run_notes.tell_not_drawn(
    frames.runs['label'], drawn, 'a barrier or a baseline'
  )
  runs = frames.runs[frames.runs['label'].isin(drawn)]
  figure = draw_panels(
    points,
    name,
    (5.6, 4.9) if alone else (3.6, 3.3),
    34 if alone else 20,
    run_notes.join(
      [
        pooling,
        run_notes.tell_clients(runs),
        run_notes.tell_diverged(frames.runs, 'label'),
        without,
        frames.left_out,
      ]
    ),
  )
  title = 'Client-server barrier, training clients'
  title = run_notes.name_task(title, runs)
  panels.set_figure_title(figure, title)
  return {style.slug(f'barrier_{name}'): figure}
