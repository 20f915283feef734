# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The toy regression figure: what merging does to two clients' functions."""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from launch.plots import barrier
from launch.plots import panels
from launch.plots import style

from matplotlib import figure as mpl_figure
import numpy as np

# Clients are grey: colours are the methods'.
_CLIENT_LOOKS = (
  {'color': '#8c8c8c', 'linestyle': '-', 'marker': 'o'},
  {'color': '#3d3d3d', 'linestyle': (0, (4, 1.5)), 'marker': '^'},
)
_TRUTH = {'color': style.GRID, 'linewidth': 4}
_OVERLAP_MARKERS = ('o', 's', '^', 'D')
_TITLE = 'Two clients fit parts of sin(3x); the server merges them'
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
  shown: Sequence[RegressionPanel],
  barriers: Mapping[str, tuple[np.ndarray, np.ndarray]],
  *,
  method: str,
  baseline: str = 'FedAvg',
) -> mpl_figure.Figure:
  """Plots local functions, global functions and barriers for each overlap.

  Args:
    shown: The overlaps, from full to none.
    barriers: For each overlap's title the barriers in MSE, one a seed, of the
      method and of the baseline, both `[num_seeds]`.
    method: Name of the method on the x axis.
    baseline: Name of the method on the y axis.

  Returns:
    The figure: a column an overlap, local functions above global ones, and
    the scatter of the barriers on the right.
  """
  figure = style.new_figure(12, 5.6)
  left, right = figure.subfigures(1, 2, width_ratios=[len(shown), 1.4])
  axes = left.subplots(2, len(shown), sharex=True, sharey=True)
  looks = style.series_looks(list(shown[0].global_functions))
  for (upper, lower), panel in zip(axes.T, shown):
    for axis, alpha in ((upper, 0.45), (lower, 0.2)):
      axis.plot(panel.grid, panel.truth, **_TRUTH, zorder=1)
      for x, y, look in zip(panel.client_x, panel.client_y, _CLIENT_LOOKS):
        points = look | {'linestyle': 'none', 'markersize': 3, 'zorder': 2}
        axis.plot(x, y, alpha=alpha, markeredgewidth=0, **points)
    for function, look in zip(panel.local_functions, _CLIENT_LOOKS):
      upper.plot(panel.grid, function, **look | {'marker': ''})
    for label, function in panel.global_functions.items():
      lower.plot(panel.grid, function, **looks[label] | {'marker': ''})
    upper.set_title(panel.title)
    lower.set_xlabel('x')
  for axis, name in zip(axes[:, 0], ('Local functions', 'Global function')):
    axis.set_ylabel(f'{name}, y')
  # The data's range: functions may run off where no client has data.
  targets = np.concatenate([y for p in shown for y in p.client_y])
  axes[0, 0].set_ylim(targets.min() - 0.5, targets.max() + 0.5)
  axes[0, 0].set_xlim(shown[0].grid.min(), shown[0].grid.max())

  axis = right.subplots()
  every = [values for pair in barriers.values() for values in pair]
  barrier.compare_methods(axis, every, method, baseline, 'mse')
  for (label, (x, y)), marker, color in zip(
    barriers.items(), _OVERLAP_MARKERS, _OVERLAP_COLORS
  ):
    options = {'marker': marker, 'color': color, 'label': label}
    panels.draw_points(axis, x, y, 34, alpha=0.85, **options)
  seeds = max((len(x) for x, _ in barriers.values()), default=0)
  axis.set_title(f'Client-server barrier, {seeds} seeds')
  spaces = {'handlelength': 1, 'handletextpad': 0.2, 'columnspacing': 1}
  right.legend(loc='outside lower center', ncols=3, **spaces)
  entries = [panels.entry('true function', **_TRUTH)]
  entries += [
    panels.entry(f'client {i + 1}', **look | {'markersize': 4})
    for i, look in enumerate(_CLIENT_LOOKS)
  ]
  entries += [
    panels.entry(f'{label}, global', **look | {'marker': ''})
    for label, look in looks.items()
  ]
  left.legend(handles=entries, loc='outside lower left', ncols=len(entries))
  panels.set_figure_title(figure, _TITLE)
  return figure
