# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Plots of the client-server barriers of two methods against each other.

As in figure 6 of FedFish (arXiv 2311.10291), the method on the x axis has the
lower barrier where points lie above the line x = y.
"""

from collections.abc import Mapping

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
    axis: The axis.
    x: The barriers of the method, to which x is fitted.
    y: The barriers of the baseline, to which y is fitted.
    method: The method.
    baseline: The baseline.
    name: The metric of the barriers.
  """
  halves = f'lower for {method}', f'lower for {baseline}'
  panels.compare_axes(axis, x, y, above=halves[0], below=halves[1])
  what = column_titles.title(f'csb/{name}').replace('Barrier', 'barrier')
  y_label = style.wrap_text(f'{baseline}: {what}', panels.cell_width(axis))
  panels.set_labels(axis, f'{method}: {what}', y_label)


# The points of settings by task, method and baseline.
_Points = Mapping[
  tuple[str, str, str], Mapping[settings_lib.Setting, pd.DataFrame]
]


def _find_points(settings: settings_lib.Settings, name: str) -> _Points:
  shown = {}
  for s, other in settings_lib.pair_with_baselines(settings):
    points = _read_points(settings[s], settings[other], name)
    if len(points):
      shown.setdefault((s.task, s.method, other.method), {})[s] = points
  return shown


def _draw_panels(
  shown: _Points,
  name: str,
  size: tuple[float, float],
  point_size: float,
  note: str = '',
) -> mpl_figure.Figure:
  """Draws a panel per task and method; markers tell local epochs."""
  tasks = settings_lib.unique(task for task, _, _ in shown)
  methods = settings_lib.unique(method for _, method, _ in shown)
  cells, columns = list(shown), 3
  if 1 < len(methods) <= _MAX_COLUMNS:  # One row per task.
    columns = len(methods)
    keys = {key[:2]: key for key in shown}
    cells = [keys.get((task, method)) for task in tasks for method in methods]
  figure, axes = panels.new_grid(cells, size, columns=columns)
  drawn = [s for points in shown.values() for s in points]
  markers = panels.epoch_markers(s.local_epochs for s in drawn)
  # A shade has the same meaning in all panels.
  shares = len({s.rounds for s in drawn}) > 1
  every = pd.concat(p for of in shown.values() for p in of.values())
  rounds = every.index.get_level_values(1)
  norm = mpl_colors.Normalize(
    *((0, 1) if shares else (rounds.min(), rounds.max()))
  )
  for axis, key in zip(axes, filter(None, cells)):
    pooled = pd.concat(shown[key].values())
    compare_methods(axis, pooled['x'], pooled['y'], *key[1:], name)
    axis.set_title(key[0] if len(tasks) > 1 else '')
    for s, p in shown[key].items():
      image = panels.draw_points(
        axis,
        p['x'],
        p['y'],
        point_size,
        c=p.index.get_level_values(1) / (s.rounds if shares else 1),
        cmap=_COLORS,
        norm=norm,
        marker=markers[s.local_epochs],
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


def _count_seeds(shown: _Points) -> str:
  return run_notes.count_seeds(
    p.index.get_level_values(0).nunique()
    for of in shown.values()
    for p in of.values()
  )


@style.styled
def draw(
  frames: frames_lib.Frames, metric: str
) -> dict[str, mpl_figure.Figure]:
  """Draws the barriers of each method against those of the baseline."""
  name = metric.rpartition('/')[2]
  settings = settings_lib.read_settings(frames)
  shown = _find_points(settings, name)
  if not shown:
    return {}
  runs = settings_lib.runs(settings)
  clients = run_notes.tell_clients(runs)
  figure = _draw_panels(
    shown,
    name,
    (5.6, 4.9) if len(shown) == 1 else (3.6, 3.3),
    34 if len(shown) == 1 else 20,
    f'One point per seed and round, {_count_seeds(shown)}. {clients}',
  )
  title = run_notes.name_task('Client-server barrier, training clients', runs)
  panels.set_figure_title(figure, title)
  return {style.slug(f'barrier_{name}'): figure}


@style.styled_for_paper
def plot_barrier_panels(
  settings: settings_lib.Settings, name: str
) -> panels.Drawing | None:
  """Plots barriers against the baseline's, with a panel per task and method.

  Points are shaded by round and have a marker for each number of local epochs.

  Args:
    settings: The settings.
    name: The metric of the barriers, for example `'accuracy'`.

  Returns:
    The figure and its caption; None if no two methods have barriers at a common
    seed and round.
  """
  shown = _find_points(settings, name)
  if not shown:
    return None
  size = panels.PAPER_COLUMN, 2.9 if len(shown) < 3 else 2.3
  figure = _draw_panels(shown, name, size, 12)
  lines = [
    f'  {task}, {method} against {baseline}, '
    f'{panels.name_epochs(s.local_epochs)}: lower for {method} at '
    f'{(p["gain"] > 0).sum()} of {len(p)} points'
    + (f' ({ties} tied)' if (ties := (p['gain'] == 0).sum()) else '')
    for (task, method, baseline), points in shown.items()
    for s, p in points.items()
  ]
  caption = (
    f'Client-server barrier in {name} of the cohorts, one point per seed and '
    f'round, {_count_seeds(shown)}; lower is better, so points above the line '
    'y = x speak for the method on the x axis. Shades: rounds; markers: local '
    'epochs.\n'
  )
  return panels.Drawing(figure, caption + '\n'.join(lines))
