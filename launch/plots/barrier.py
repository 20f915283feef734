# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The client-server barriers of two methods against each other.

As in FedFish's figure 6 (arXiv 2311.10291) the method on the x axis has the
lower barrier where points lie above the line x = y.
"""

from collections.abc import Iterable
from collections.abc import Sequence
from typing import NamedTuple

from fedfish_tff.evaluation import ranking
from launch.plots import panels
from launch.plots import paper_style
from launch.plots import request as request_lib
from launch.plots import style
from launch.results import method_comparison
from launch.results import run_notes
from launch.results import settings as settings_lib

from matplotlib import axes as mpl_axes
from matplotlib import colors as mpl_colors
from matplotlib import ticker
import numpy as np

# Pale yellow is all but white in print.
_COLORS = mpl_colors.LinearSegmentedColormap.from_list(
  'rounds', ['#f2d96b', '#a59c74', '#5c6a72', '#27466f', '#00204d']
)
_MAX_COLUMNS = 4


class _Points(NamedTuple):
  """Barriers of a method (x) and its baseline (y), a point a seed and round.

  Attributes:
    rounds: The rounds of the points.
    x: The barriers of the method.
    y: The barriers of the baseline.
    seeds: The number of seeds.
    gains: By how much those of the method are lower; 0 where they tie.
  """

  rounds: np.ndarray
  x: np.ndarray
  y: np.ndarray
  seeds: int
  gains: np.ndarray


def _read_points(
  groups: method_comparison.Groups, method: str, baseline: str, name: str
) -> _Points | None:
  """Returns the barriers at common seeds and rounds, if there are any."""
  parts = []
  for pair in method_comparison.common_seeds(groups, method, baseline):
    part = np.stack(method_comparison.common_rounds(*pair, f'csb/{name}'))
    # A round in which a method has diverged cannot be drawn.
    part = part[:, np.isfinite(part).all(axis=0)]
    if part.size:
      parts.append(part)
  if not parts:
    return None
  rounds, x, y = np.concatenate(parts, 1)
  direction = method_comparison.direction(
    [*groups[method], *groups[baseline]], f'csb/{name}'
  )
  return _Points(rounds, x, y, len(parts), ranking.gains(x, y, **direction))


@style.styled
def draw(request: request_lib.Request) -> request_lib.Figures:
  """The barriers in a metric of each pair of methods that have them."""
  figures = {}
  groups, name = request.groups, request.name
  for pair in method_comparison.method_pairs(groups):
    # Rounds of other lengths have barriers of other heights.
    if len({groups[m][0].config.get('local_epochs') for m in pair}) > 1:
      continue
    points = _read_points(groups, *pair, name)
    if points:
      figure, (axis,) = panels.new_grid([pair], (5.6, 4.9))
      compare_methods(axis, points[1:3], *pair, name)
      shades = {'c': points.rounds, 'cmap': _COLORS}
      image = panels.draw_points(axis, points.x, points.y, 34, **shades)
      one = request._replace(groups={pair[0]: groups[pair[0]]})
      title = one.title('Client-server barrier')
      axis.set_title(style.wrap_text(title, 4.4, 11))
      ticks = ticker.MaxNLocator(8, integer=True)
      panels.draw_colorbar(image, axis, 'Round', ticks=ticks)
      file_name = request_lib.slug('barrier_{}_{}_{}'.format(name, *pair))
      figures[file_name] = figure
      seeds = run_notes.count_seeds([points.seeds])
      clients = run_notes.tell_clients(r for m in pair for r in groups[m])
      note = f'A point a seed and round, {seeds}. {clients}'
      panels.draw_legend(figure, note=note)
  return figures


def compare_methods(
  axis: mpl_axes.Axes,
  values: Iterable[np.ndarray],
  method: str,
  baseline: str,
  name: str,
) -> None:
  """Sets an axis up on which the lower barrier is better for either method."""
  halves = f'lower for {method}', f'lower for {baseline}'
  panels.compare_axes(axis, values, above=halves[0], below=halves[1])
  what = style.metric_title(f'csb/{name}').replace('Barrier', 'barrier')
  y_label = style.wrap_text(f'{baseline}: {what}', panels.cell_width(axis))
  panels.set_labels(axis, f'{method}: {what}', y_label)


@style.styled_for_paper
def plot_barrier_panels(
  settings: Sequence[settings_lib.Setting], name: str
) -> paper_style.Drawing | None:
  """Plots barriers against the baseline's, a panel a task and method.

  Points are shaded by round, and have a marker for each number of local epochs.

  Args:
    settings: As `settings.read_settings` returns them.
    name: The metric of the barriers, for example `'accuracy'`.

  Returns:
    The figure and its caption; None where no two methods have barriers at a
    common seed and round.
  """
  shown = {}
  for s, other in paper_style.pair_with_baselines(settings):
    groups = {s.method: s.runs, other.method: other.runs}
    points = _read_points(groups, s.method, other.method, name)
    if points:
      shown.setdefault((s.task, s.method, other.method), {})[s] = points
  if not shown:
    return None
  tasks = settings_lib.unique(task for task, _, _ in shown)
  methods = settings_lib.unique(method for _, method, _ in shown)
  cells, columns = list(shown), 3
  if 1 < len(methods) <= _MAX_COLUMNS:  # A row a task.
    columns = len(methods)
    keys = {key[:2]: key for key in shown}
    cells = [keys.get((task, method)) for task in tasks for method in methods]
  size = panels.PAPER_COLUMN, 2.9 if min(columns, len(cells)) < 3 else 2.3
  figure, axes = panels.new_grid(cells, size, columns=columns)
  drawn = [s for points in shown.values() for s in points]
  markers = paper_style.epoch_markers(s.local_epochs for s in drawn)
  # One shade means one thing in all panels.
  shares = len({s.rounds for s in drawn}) > 1
  norm = mpl_colors.Normalize(0, 1 if shares else drawn[0].rounds)
  for axis, (task, method, baseline) in zip(axes, filter(None, cells)):
    # Panels of one task are there to be compared.
    every = [
      (p.x, p.y)
      for key, points in shown.items()
      for p in points.values()
      if key[0] == task
    ]
    compare_methods(axis, every, method, baseline, name)
    axis.set_title(task if len(tasks) > 1 else '')
    for s, p in shown[task, method, baseline].items():
      image = panels.draw_points(
        axis,
        p.x,
        p.y,
        12,
        c=p.rounds / (s.rounds if shares else 1),
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
    p.seeds for points in shown.values() for p in points.values()
  )
  lines = [
    f'  {task}, {method} against {baseline}, '
    f'{paper_style.name_epochs(s.local_epochs)}: lower for {method} at '
    f'{(p.gains > 0).sum()} of {len(p.x)} points'
    + (f' ({ties} tied)' if (ties := (p.gains == 0).sum()) else '')
    for (task, method, baseline), points in shown.items()
    for s, p in points.items()
  ]
  caption = (
    f'Client-server barrier in {name} of the cohorts, a point a seed and '
    f'round, {seeds}; lower is better, so points above the line x = y speak '
    'for the method on the x axis. Shades: rounds; markers: local epochs.\n'
  )
  return paper_style.Drawing(figure, caption + '\n'.join(lines))
