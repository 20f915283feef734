# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A metric against rounds, local steps or bytes, one line a method."""

from collections.abc import Mapping
from collections.abc import Sequence
import math
from typing import NamedTuple

from launch.plots import panels
from launch.plots import request as request_lib
from launch.plots import style
from launch.results import run_reader

from matplotlib import axes as mpl_axes
from matplotlib import figure as mpl_figure
from matplotlib import ticker
import numpy as np

# Ends of lines that differ by more are on a logarithmic axis: the cheap ones
# would be a single line at the left.
BYTES_RATIO = 50


class Line(NamedTuple):
  """A line of a panel.

  Attributes:
    xs: `[num_points]`.
    ys: `[num_seeds, num_points]`.
    look: Its look.
    label: For the legend.
    shift: Of its markers; see `panels.draw_line`.
  """

  xs: np.ndarray
  ys: np.ndarray
  look: style.Look
  label: str | None = None
  shift: float = 0.0


def draw(request: request_lib.Request) -> request_lib.Figures:
  """The metric against each of `x_axes` that the runs have.

  Lines are means over seeds, with their range.
  """
  return {
    request_lib.slug(f'{request.metric}_by_{x}'): _plot(request, lines, x)
    for x in request.x_axes
    if (
      lines := {
        label: points
        for label, runs in request.groups.items()
        if (points := read_points(runs, request.metric, x))
      }
    )
  }


def draw_others(request: request_lib.Request) -> request_lib.Figures:
  """What else a run has measured, against rounds."""
  columns = (
    'train/loss',
    f'eval/personalized/{request.name}',
    f'csb/{request.name}',
  )
  figures = {}
  for column in columns:
    figures |= draw(request._replace(metric=column, x_axes=['round']))
  return figures


@style.styled
def _plot(
  request: request_lib.Request,
  points: Mapping[str, tuple[np.ndarray, np.ndarray]],
  x: str,
) -> mpl_figure.Figure:
  figure, (axis,) = panels.new_grid([x], (7, 4.2))
  looks = style.series_looks(list(request.groups))
  lines = [Line(*of, looks[label], label) for label, of in points.items()]
  ratio = BYTES_RATIO if x.endswith('bytes') else math.inf
  x_label = draw_lines(axis, lines, x, ratio, show_seeds=request.show_seeds)
  subtitle = ''
  if (seeds := max(len(line.ys) for line in lines)) > 1:
    what = (
      'thin lines: each seed'
      if request.show_seeds
      else 'band: lowest to highest'
    )
    subtitle = f'Mean of {seeds} seeds; {what}'
  if x != 'round':
    x_label += ', all clients, cumulative'
  y_label = style.metric_title(request.metric)
  title = request.title(style.describe_metric(request.metric))
  panels.set_labels(axis, x_label, y_label, title, subtitle)
  panels.draw_legend(figure, axis.get_legend_handles_labels()[0])
  return figure


def read_points(
  runs: Sequence[run_reader.Run], metric: str, x: str
) -> tuple[np.ndarray, np.ndarray] | None:
  """Returns x `[rounds]` and y `[seeds, rounds]` at rounds that seeds share.

  Args:
    runs: A run a seed.
    metric: A column of metrics.csv.
    x: Of `request.X_AXES`.

  Returns:
    x, the mean over seeds, and y; None where no run has both columns.
  """
  series = [run.series(request_lib.X_AXES[x][0], metric) for run in runs]
  series = [s for s in series if len(s[0])]
  if not series:
    return None
  rounds = series[0][0]
  for other, _, _ in series[1:]:
    rounds = np.intersect1d(rounds, other)
  kept = [np.isin(r, rounds) for r, _, _ in series]
  # Seeds draw different clients, so a round has not the same steps in each.
  xs = np.mean([x[k] for (_, x, _), k in zip(series, kept)], axis=0)
  return xs, np.array([y[k] for (_, _, y), k in zip(series, kept)])


def draw_lines(
  axis: mpl_axes.Axes,
  lines: Sequence[Line],
  x: str,
  largest_ratio: float,
  *,
  show_seeds: bool = False,
) -> str:
  """Draws a panel's lines, sets its x axis up and returns its label.

  Args:
    axis: The axis.
    lines: The lines.
    x: Of `request.X_AXES`.
    largest_ratio: Lines whose ends differ by more are on a logarithmic axis.
    show_seeds: Whether to draw each seed's line in place of the range.
  """
  ends = [line.xs[-1] for line in lines if len(line.xs) and line.xs[-1] > 0]
  logarithmic = bool(ends) and max(ends) > largest_ratio * min(ends)
  set_scale(axis, logarithmic, unit='B' if x.endswith('bytes') else '')
  for line in lines:
    # The initial model, for which nothing is sent, has no logarithm.
    kept = line.xs > 0 if logarithmic else slice(None)
    xs, ys = line.xs[kept], line.ys[:, kept]
    if show_seeds:
      axis.plot(xs, ys.T, color=line.look['color'], linewidth=0.7, alpha=0.5)
    panels.draw_line(
      axis,
      xs,
      ys,
      line.look,
      shaded=not show_seeds,
      label=line.label,
      shift=line.shift,
    )
  axis.margins(x=0.02)
  return request_lib.X_AXES[x][1] + (' (logarithmic)' if logarithmic else '')


def set_scale(axis: mpl_axes.Axes, logarithmic: bool, unit: str = '') -> None:
  """Makes an x axis linear or logarithmic, of numbers with SI prefixes."""
  if logarithmic:
    axis.set_xscale('log')
    axis.xaxis.set_minor_formatter(ticker.NullFormatter())
  else:
    axis.xaxis.set_major_locator(
      ticker.MaxNLocator(
        int(panels.cell_width(axis)) + 2, steps=[1, 2, 2.5, 5, 10], integer=True
      )
    )
  axis.xaxis.set_major_formatter(ticker.EngFormatter(unit))
