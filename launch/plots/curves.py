# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Curves of a metric against rounds, steps, bytes or time, a line per method."""

from collections.abc import Mapping
from collections.abc import Sequence
import math

from launch.plots import panels
from launch.plots import style
from launch.results import column_titles
from launch.results import frames as frames_lib
from launch.results import run_notes

from matplotlib import figure as mpl_figure
import numpy as np

# For each kind of x axis: the column of metrics.csv, the axis's label, the words
# of captions, and the unit of an axis that sums over all clients; rounds and
# time pass for all of them at once.
X_AXES = {
  'round': ('round', 'Round', 'rounds', None),
  'local_steps': (
    'compute/local_steps_total',
    'Local gradient steps',
    'local gradient steps of all clients together, the Fisher pass included',
    '',
  ),
  'bytes': (
    'communication/wire_bytes_total',
    'Communication',
    'bytes sent between the server and all clients together',
    'B',
  ),
  'payload_bytes': (
    'communication/payload_bytes_total',
    'Updates as sent',
    'bytes of the updates as all clients together have sent them',
    'B',
  ),
  'simulated_seconds': (
    'simulated/seconds',
    'Simulated time in seconds',
    "the rounds' simulated time in seconds",
    None,
  ),
}
# Larger ratios of bytes need a logarithmic axis.
BYTES_RATIO = 50


def draw(
  frames: frames_lib.Frames,
  metric: str,
  *,
  x_axes: Sequence[str] = tuple(X_AXES),
) -> dict[str, mpl_figure.Figure]:
  """Draws the metric against each of the axes that the runs have.

  Args:
    frames: The labelled runs.
    metric: A column of metrics.csv.
    x_axes: The axes that it is drawn against, from `X_AXES`.

  Returns:
    The figures by the names of their files; lines are means over seeds.
  """
  return {
    style.slug(f'{metric}_by_{x}'): figure
    for x in x_axes
    if (figure := _plot(frames, metric, x))
  }


def draw_others(
  frames: frames_lib.Frames, metric: str
) -> dict[str, mpl_figure.Figure]:
  """Draws the training loss and the metric's other columns against rounds."""
  name = metric.rpartition('/')[2]
  columns = [
    column
    for column in frames.rounds
    if column.startswith(('eval/', 'csb/'))
    and column.endswith(f'/{name}')
    and column != metric
  ]
  figures = {}
  for column in ('train/loss', *columns):
    figures |= draw(frames, column, x_axes=['round'])
  return figures


def read_lines(
  groups: Mapping[str, frames_lib.Frames], x: str, y: str
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
  """Returns the points of groups of runs that have both columns.

  They are `frames.points` by the groups' labels; `x` and `y` are columns of
  metrics.csv.
  """
  points = {label: frames_lib.points(of, x, y) for label, of in groups.items()}
  return {label: found for label, found in points.items() if found}


@style.styled
def _plot(
  frames: frames_lib.Frames, metric: str, x: str
) -> mpl_figure.Figure | None:
  """Draws all lines in one panel, or, if there are many, in one each, too."""
  column, x_label, _, unit = X_AXES[x]
  looks = style.method_looks(frames.groups())
  # Titles and notes tell of runs with both columns; diverged ones have no line.
  labels, frames = frames.runs['label'], frames.having(column, metric)
  lines = read_lines(frames.groups(), column, metric)
  if not lines:
    return None
  many = len(lines) > panels.MOST_BANDS
  figure, axes = panels.new_grid(
    ['', *lines] if many else [''],
    (3.3, 2.6) if many else (7, 4.2),
    sharex=many,
    sharey=many,
  )
  ratio = BYTES_RATIO if unit else math.inf
  if panels.draw_lines(axes[0], lines, looks, unit=unit, log_ratio=ratio):
    ratio = 0
    # x of the initial model is 0, far to the left of a logarithmic axis.
    lines = {
      label: (xs[xs > 0], ys[:, xs > 0]) for label, (xs, ys) in lines.items()
    }
  entries = axes[0].get_legend_handles_labels()[0]
  for axis, label in zip(axes[1:], lines):
    for xs, ys in lines.values():
      axis.plot(xs, ys.mean(axis=0), color=style.PALE, linewidth=0.9)
    own = {label: lines[label]}
    panels.draw_lines(axis, own, looks, unit=unit, log_ratio=ratio)
  if unit is not None:
    x_label += ', all clients, cumulative'
  title = run_notes.name_task(column_titles.describe(metric), frames.runs)
  titles = ['All', *lines] if many else ['']
  panels.limit_shares(axes, metric)
  for axis, text in zip(axes, titles):
    axis.tick_params(labelbottom=True)
    panels.set_labels(axis, x_label, column_titles.title(metric), text)
  panels.set_figure_title(figure, title)
  pooling = 'lines are their means, bands from the lowest to the highest'
  note = run_notes.join(
    [
      run_notes.describe(frames, pooling, metric).removesuffix('.'),
      run_notes.tell_not_drawn(
        labels, set(frames.runs['label']), 'these numbers'
      ),
      run_notes.tell_judged(frames.runs, metric),
      run_notes.tell_starts(frames.runs, [metric]),
      run_notes.tell_fine_tuning(frames.runs, [metric]),
    ]
  )
  panels.draw_legend(figure, entries, note=note)
  return figure
