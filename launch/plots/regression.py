# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The toy regression figure: what merging does to two clients' functions."""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from launch.plots import barrier
from launch.plots import style

from matplotlib import axes as mpl_axes
from matplotlib import figure as mpl_figure
from matplotlib import lines as mpl_lines
import numpy as np

# Clients are grey: colours are the methods'.
_CLIENT_LOOKS = (('#8c8c8c', '-', 'o'), ('#3d3d3d', (0, (4, 1.5)), '^'))
_OVERLAP_MARKERS = ('o', 's', '^', 'D')
_OVERLAP_COLORS = ('#009E73', '#E69F00', '#CC79A7', '#56B4E9')


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class RegressionPanel:
  """One overlap of the two clients' inputs, for one seed.

  Attributes:
    title: Name of the overlap, for example `'Partial overlap'`.
    grid: Inputs at which functions are drawn, `[num_points]`.
    truth: The true function there, `[num_points]`.
    client_x: Each client's inputs, `[num_examples]`.
    client_y: Each client's targets, `[num_examples]`.
    local_functions: Each client's own function, `[num_points]`.
    global_functions: Each method's global function, `[num_points]`.
  """

  title: str
  grid: np.ndarray
  truth: np.ndarray
  client_x: Sequence[np.ndarray]
  client_y: Sequence[np.ndarray]
  local_functions: Sequence[np.ndarray]
  global_functions: Mapping[str, np.ndarray]


@style.styled
def plot_toy_regression(
  panels: Sequence[RegressionPanel],
  barriers: Mapping[str, tuple[np.ndarray, np.ndarray]],
  *,
  x_label: str = 'FedFish',
  y_label: str = 'FedAvg',
  title: str = 'Two clients fit parts of sin(3x); the server merges them',
) -> mpl_figure.Figure:
  """Plots local functions, global functions and barriers for each overlap.

  Args:
    panels: The overlaps, from full to none.
    barriers: For each overlap's title the barriers in MSE, one a seed, of the
      method on the x axis and of the one on the y axis, both `[num_seeds]`.
    x_label: Name of the method on the x axis.
    y_label: Name of the method on the y axis.
    title: The title.

  Returns:
    The figure: a column an overlap, local functions above global ones, and
    the scatter of the barriers on the right.
  """
  figure = style.new_figure(12, 5.6)
  columns = len(panels)
  grid = figure.add_gridspec(
    2, columns + 1, width_ratios=[1] * columns + [1.35]
  )
  shared = None
  methods = list(panels[0].global_functions)
  styles = style.series_styles(methods)
  for column, panel in enumerate(panels):
    upper = figure.add_subplot(grid[0, column], sharex=shared, sharey=shared)
    shared = shared or upper
    lower = figure.add_subplot(grid[1, column], sharex=shared, sharey=shared)
    _draw_data(upper, panel, strong=True)
    for function, (color, linestyle, _) in zip(
      panel.local_functions, _CLIENT_LOOKS
    ):
      upper.plot(panel.grid, function, color=color, linestyle=linestyle)
    _draw_data(lower, panel, strong=False)
    for label, function in panel.global_functions.items():
      look = styles[label]
      lower.plot(
        panel.grid, function, color=look.color, linestyle=look.linestyle
      )
    upper.set_title(panel.title)
    upper.tick_params(labelbottom=False)
    lower.set_xlabel('x')
    for axis, name in ((upper, 'Local functions'), (lower, 'Global function')):
      axis.tick_params(labelleft=column == 0)
      if not column:
        axis.set_ylabel(f'{name}, y')
  # The data's range: functions may run off where no client has data.
  targets = np.concatenate([y for p in panels for y in p.client_y])
  shared.set_ylim(targets.min() - 0.5, targets.max() + 0.5)
  shared.set_xlim(panels[0].grid.min(), panels[0].grid.max())
  _draw_barriers(
    figure.add_subplot(grid[:, columns]), barriers, x_label, y_label
  )
  _draw_legend(figure, methods, styles)
  figure.suptitle(title, x=0.01, ha='left')
  return figure


def _draw_data(
  axis: mpl_axes.Axes, panel: RegressionPanel, *, strong: bool
) -> None:
  axis.plot(panel.grid, panel.truth, color=style.GRID, linewidth=4, zorder=1)
  for x, y, (color, _, marker) in zip(
    panel.client_x, panel.client_y, _CLIENT_LOOKS
  ):
    axis.scatter(
      x,
      y,
      s=9,
      marker=marker,
      color=color,
      alpha=0.45 if strong else 0.2,
      linewidths=0,
      zorder=2,
    )


def _draw_barriers(
  axis: mpl_axes.Axes,
  barriers: Mapping[str, tuple[np.ndarray, np.ndarray]],
  x_label: str,
  y_label: str,
) -> None:
  every = [values for pair in barriers.values() for values in pair]
  limits = style.share_limits(axis, every, margin=0.08)
  style.draw_diagonal(axis, limits)
  for (label, (x, y)), marker, color in zip(
    barriers.items(), _OVERLAP_MARKERS, _OVERLAP_COLORS
  ):
    axis.scatter(
      x,
      y,
      s=34,
      marker=marker,
      color=color,
      alpha=0.85,
      edgecolors=style.INK,
      linewidths=0.5,
      label=label,
      zorder=3,
    )
  barrier.label_halves(axis, x_label, y_label)
  axis.set_xlabel(f'{x_label}: barrier in MSE')
  axis.set_ylabel(f'{y_label}: barrier in MSE')
  seeds = max((len(x) for x, _ in barriers.values()), default=0)
  axis.set_title(f'Client-server barrier, {seeds} seeds')
  axis.legend(
    loc='upper center',
    bbox_to_anchor=(0.5, -0.14),
    ncols=3,
    handletextpad=0.2,
    columnspacing=1.0,
  )


def _draw_legend(
  figure: mpl_figure.Figure,
  methods: Sequence[str],
  styles: Mapping[str, style.SeriesStyle],
) -> None:
  handles = [mpl_lines.Line2D([], [], color=style.GRID, linewidth=4)]
  names = ['true function']
  for index, (color, linestyle, marker) in enumerate(_CLIENT_LOOKS):
    handles.append(
      mpl_lines.Line2D(
        [], [], color=color, linestyle=linestyle, marker=marker, markersize=4
      )
    )
    names.append(f'client {index + 1}')
  for method in methods:
    look = styles[method]
    handles.append(
      mpl_lines.Line2D([], [], color=look.color, linestyle=look.linestyle)
    )
    names.append(f'{method}, global')
  figure.legend(
    handles, names, loc='outside lower left', ncols=len(names), handlelength=3
  )
