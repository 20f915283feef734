# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedFish's figure 6: client-server barriers by task and local epochs."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import NamedTuple

from launch.plots import paper_style
from launch.plots import style
from launch.results import method_comparison
from launch.results import method_labels
from launch.results import settings as settings_lib

from matplotlib import colors as mpl_colors
from matplotlib import lines as mpl_lines
from matplotlib import ticker
import numpy as np

_PANEL_HEIGHTS = {1: 2.6, 2: 2.8, 3: 2.2, 4: 2.0}  # By panels a row.
# Pale yellow is all but white in print.
_COLORS = mpl_colors.LinearSegmentedColormap.from_list(
  'rounds', ['#f2d96b', '#a59c74', '#5c6a72', '#27466f', '#00204d']
)


class _Points(NamedTuple):
  """Barriers of a method and its baseline.

  Attributes:
    rounds: `[num_points]`.
    x: Of the method at these rounds and seeds, `[num_points]`.
    y: Of the baseline, `[num_points]`.
    seeds: How many seeds they are from.
  """

  rounds: np.ndarray
  x: np.ndarray
  y: np.ndarray
  seeds: int


@paper_style.styled
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
  panels = {}
  for task in settings_lib.unique(s.task for s in settings):
    of_task = [s for s in settings if s.task == task]
    for method, baseline in settings_lib.find_baselines(of_task).items():
      points = _read_points(of_task, method, baseline, f'csb/{name}')
      if points:
        panels[task, method, baseline] = points
  if not panels:
    return None
  tasks = settings_lib.unique(task for task, _, _ in panels)
  markers = paper_style.epoch_markers(
    [s.local_epochs for points in panels.values() for s in points]
  )
  # One shade means one thing in all panels.
  rounds = {s.rounds for points in panels.values() for s in points}
  norm = mpl_colors.Normalize(0, 1 if len(rounds) > 1 else max(rounds))
  methods = settings_lib.unique(method for _, method, _ in panels)
  if len(methods) > 1 and len(methods) in _PANEL_HEIGHTS:  # A row a task.
    columns = len(methods)
    cells = [
      tasks.index(task) * columns + methods.index(method)
      for task, method, _ in panels
    ]
  else:
    columns = min(3, len(panels))
    cells = range(len(panels))
  figure, places = paper_style.new_grid(
    max(cells) + 1, _PANEL_HEIGHTS[columns], columns
  )
  axes = []
  for cell, ((task, method, baseline), points) in zip(cells, panels.items()):
    axis = figure.add_subplot(places[cell])
    axes.append(axis)
    paper_style.set_up_axis(axis, task if len(tasks) > 1 else '')
    # Panels of one task are there to be compared.
    every = [
      values
      for (other, _, _), of_task in panels.items()
      if other == task
      for p in of_task.values()
      for values in (p.x, p.y)
    ]
    style.draw_diagonal(axis, style.share_limits(axis, every, margin=0.08))
    for dimension in (axis.xaxis, axis.yaxis):
      dimension.set_major_locator(
        ticker.MaxNLocator(nbins=4, steps=[1, 2, 5, 10])
      )
    for s, p in points.items():
      shades = axis.scatter(
        p.x,
        p.y,
        c=p.rounds / (s.rounds if len(rounds) > 1 else 1),
        cmap=_COLORS,
        norm=norm,
        marker=markers[s.local_epochs],
        s=15 if columns < 3 else 11,
        edgecolors=style.INK,
        linewidths=0.35,
        zorder=3,
      )
    width = figure.get_figwidth() / columns - 0.3
    title = style.metric_title(f'csb/{name}')
    title = title[0].lower() + title[1:]
    if columns < 3:
      halves = f'lower for {method}', f'lower for {baseline}'
      axis.set_xlabel(style.wrap_text(f'{method}: {title}', width, 7))
    else:  # Little room.
      halves = f'{baseline} higher', f'{baseline} lower'
      axis.set_xlabel(style.wrap_text(method, width, 7))
    style.label_halves(axis, *halves, width=width * 0.75, size=7)
    if columns < 3 or cell % columns == 0:
      axis.set_ylabel(f'{baseline}: {title}')
  bar = figure.colorbar(
    shades,
    ax=axes,
    aspect=30,
    pad=0.02,
    fraction=0.05,
    shrink=1 if max(cells) < columns else 0.6,
  )
  bar.outline.set_visible(False)
  bar.ax.tick_params(labelsize=7, length=2, width=0.6, pad=2)
  if len(rounds) > 1:
    bar.ax.yaxis.set_major_formatter(ticker.PercentFormatter(1.0, decimals=0))
  bar.set_label('Share of the rounds' if len(rounds) > 1 else 'Round')
  if len(markers) > 1:
    paper_style.draw_legend(figure, _handles(markers))
  return paper_style.Drawing(figure, _caption(panels, name))


def _read_points(
  settings: Sequence[settings_lib.Setting],
  method: str,
  baseline: str,
  column: str,
) -> dict[settings_lib.Setting, _Points]:
  """Returns the points of each of the method's settings that has any."""
  found = {}
  for s in settings:
    others = [
      other
      for other in settings
      if other.method == baseline
      and (other.local_epochs, other.rounds) == (s.local_epochs, s.rounds)
    ]
    if s.method != method or not others:
      continue
    reference = {run.seed: run for run in others[0].runs}
    parts = []
    for run in s.runs:
      if run.seed in reference:
        points = np.stack(
          method_comparison.common_rounds(run, reference[run.seed], column)
        )
        # A round in which a method has diverged cannot be drawn.
        points = points[:, np.isfinite(points).all(axis=0)]
        if points.size:
          parts.append(points)
    if parts:
      found[s] = _Points(*np.concatenate(parts, axis=1), seeds=len(parts))
  return found


def _handles(markers: Mapping[int, str]) -> list[mpl_lines.Line2D]:
  return [
    mpl_lines.Line2D(
      [],
      [],
      linestyle='none',
      marker=marker,
      markersize=4,
      color='white',
      markeredgecolor=style.INK,
      markeredgewidth=0.7,
      label=method_labels.count(number, 'local epoch'),
    )
    for number, marker in markers.items()
  ]


def _caption(
  panels: Mapping[tuple[str, str, str], Mapping[settings_lib.Setting, _Points]],
  name: str,
) -> str:
  seeds = [p.seeds for points in panels.values() for p in points.values()]
  lines = []
  for (task, method, baseline), points in panels.items():
    for s, p in points.items():
      epochs = method_labels.count(s.local_epochs, 'local epoch')
      lines.append(
        f'  {task}, {method} against {baseline}, {epochs}: lower for {method} at {int((p.x < p.y).sum())} of '
        f'{len(p.x)} points'
      )
  return (
    f'Client-server barrier in {name} of the cohorts, a point a seed and '
    f'round, {paper_style.seeds_phrase(seeds)}; lower is better, so points '
    'above the line x = y speak for the method on the x axis. Shades: rounds; '
    'markers: local epochs.\n' + '\n'.join(lines)
  )
