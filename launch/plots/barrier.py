# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The client-server barriers of two methods against each other."""

from launch.plots import style

from matplotlib import axes as mpl_axes
from matplotlib import figure as mpl_figure
from matplotlib import ticker
import numpy as np

_WIDTH = 3.9  # Of the axes, in inches.


@style.styled
def plot_barrier_scatter(
  x: np.ndarray,
  y: np.ndarray,
  rounds: np.ndarray,
  *,
  x_label: str = 'FedFish',
  y_label: str = 'FedAvg',
  metric: str = 'accuracy',
  title: str = 'Client-server barrier',
) -> mpl_figure.Figure:
  """Plots one point a seed and round, and the line on which both are equal.

  As in FedFish (arXiv 2311.10291) the method on the x axis has the lower
  barrier where points lie above the line.

  Args:
    x: Barriers of the one method, `[num_points]`, in the metric's unit.
    y: Barriers of the other at the same seeds and rounds, `[num_points]`.
    rounds: The points' rounds, `[num_points]`.
    x_label: Name of the one method.
    y_label: Name of the other.
    metric: The metric the barrier is measured in.
    title: The title.

  Returns:
    The figure.
  """
  figure = style.new_figure(5.6, 4.9)
  axis = figure.subplots()
  limits = style.share_limits(axis, [x, y], margin=0.08)
  style.draw_diagonal(axis, limits)
  points = axis.scatter(
    x,
    y,
    c=rounds,
    cmap='cividis_r',
    s=34,
    edgecolors=style.INK,
    linewidths=0.5,
    zorder=3,
  )
  bar = figure.colorbar(
    points,
    ax=axis,
    shrink=0.8,
    aspect=28,
    pad=0.02,
    ticks=ticker.MaxNLocator(nbins=8, integer=True),
  )
  bar.set_label('Round')
  bar.outline.set_visible(False)
  label_halves(axis, x_label, y_label)
  name = style.metric_title(f'csb/{metric}')
  name = name[0].lower() + name[1:]
  axis.set_xlabel(_axis_label(x_label, name))
  axis.set_ylabel(_axis_label(y_label, name))
  axis.set_title(style.wrap_text(title, _WIDTH, 11))
  return figure


def _axis_label(method: str, name: str) -> str:
  """Returns a method and a metric, on lines of their own where they are long."""
  label = f'{method}: {name}'
  if style.wrap_text(label, _WIDTH) == label:
    return label
  return f'{style.wrap_text(method, _WIDTH)}:\n{name}'


def label_halves(axis: mpl_axes.Axes, x_label: str, y_label: str) -> None:
  """Says on which side of the line x = y which method has the lower value."""
  style.label_halves(
    axis, f'lower for {x_label}', f'lower for {y_label}', width=_WIDTH, size=9
  )
