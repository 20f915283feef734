# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A heat map of a grid of learning rates, a panel for each method."""

from collections.abc import Mapping
import math

from launch.plots import style

from matplotlib import figure as mpl_figure
import numpy as np

_CELL_INCHES = 0.62
# Light to dark in steady steps, so that it reads in grey.
_COLORS = 'cividis'
_MAX_COLUMNS = 3


@style.styled
def plot_heat_map(
  panels: Mapping[str, Mapping[tuple[float, float], float]],
  *,
  metric: str,
  higher_is_better: bool,
  title: str,
) -> mpl_figure.Figure:
  """Draws a metric over client and server learning rates.

  The best cell of a panel has a frame. A cell without a finite value, since a
  run has diverged or is not finished, is blank and crossed.

  Args:
    panels: By the panel's title, the metric by (client rate, server rate).
    metric: The metric's name.
    higher_is_better: Whether it is better when higher.
    title: The title of the figure.
  """
  keys = [key for values in panels.values() for key in values]
  client = sorted({key[0] for key in keys})
  server = sorted({key[1] for key in keys})
  finite = [
    value
    for values in panels.values()
    for value in values.values()
    if math.isfinite(value)
  ]
  columns = min(_MAX_COLUMNS, len(panels))
  rows = -(-len(panels) // columns)
  figure = style.new_figure(
    columns * (_CELL_INCHES * len(server) + 0.9) + 1.0,
    rows * (_CELL_INCHES * 0.8 * len(client) + 0.9) + 0.5,
  )
  axes = list(
    figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).flat
  )
  # Losses far above the best would leave all others one colour.
  low, high = _limits(finite, higher_is_better)
  image = None
  for position, (name, values) in enumerate(panels.items()):
    axis = axes[position]
    table = np.full((len(client), len(server)), np.nan)
    for (one, other), value in values.items():
      if math.isfinite(value):
        table[client.index(one), server.index(other)] = value
    image = axis.imshow(
      table,
      origin='lower',
      aspect='auto',
      cmap=_COLORS if higher_is_better else f'{_COLORS}_r',
      vmin=low,
      vmax=high,
    )
    _write_values(axis, table, low, high, higher_is_better)
    axis.set_title(style.wrap_text(name, 0.62 * len(server) + 0.5, 11))
    axis.grid(False)
    axis.set_xticks(range(len(server)), [f'{rate:g}' for rate in server])
    axis.set_yticks(range(len(client)), [f'{rate:g}' for rate in client])
    axis.tick_params(length=0)
    # The last panel of a column need not be in the last row.
    if position + columns >= len(panels):
      axis.set_xlabel('Server learning rate')
      axis.tick_params(labelbottom=True)
    if position % columns == 0:
      axis.set_ylabel('Client learning rate')
  for axis in axes[len(panels) :]:
    axis.set_visible(False)
  if finite:
    figure.colorbar(
      image,
      ax=axes,
      label=style.metric_title(metric),
      shrink=0.8,
      extend='max' if high < max(finite) else 'neither',
    )
  style.set_figure_title(figure, title)
  return figure


def _limits(values: list[float], higher_is_better: bool) -> tuple[float, float]:
  """Returns the values of the ends of the colours."""
  if not values:
    return 0.0, 1.0
  if higher_is_better:
    return min(values), max(values)
  return min(values), float(np.quantile(values, 0.8))


def _write_values(
  axis, table: np.ndarray, low: float, high: float, higher_is_better: bool
) -> None:
  best = None
  if np.isfinite(table).any():
    find = np.nanargmax if higher_is_better else np.nanargmin
    best = np.unravel_index(find(table), table.shape)
  for (row, column), value in np.ndenumerate(table):
    if not np.isfinite(value):
      axis.plot(
        column, row, marker='x', color=style.MUTED, markersize=6, linestyle=''
      )
      continue
    brightness = (value - low) / (high - low) if high > low else 0.0
    if not higher_is_better:
      brightness = 1 - brightness
    axis.text(
      column,
      row,
      style.format_value(value),
      ha='center',
      va='center',
      fontsize=8,
      fontweight='bold' if (row, column) == best else 'normal',
      color=style.INK if brightness > 0.5 else 'white',
    )
  if best is not None:
    row, column = best
    x, y = column - 0.5, row - 0.5
    axis.plot(
      [x, x + 1, x + 1, x, x],
      [y, y, y + 1, y + 1, y],
      color='#D55E00',
      linewidth=2.2,
      clip_on=False,
    )
