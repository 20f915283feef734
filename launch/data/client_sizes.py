# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A histogram of the sizes of clients, with logarithmic axes."""

from collections.abc import Mapping

from launch.plots import panels
from launch.plots import style
from launch.results import text_table

from matplotlib import figure as mpl_figure
from matplotlib import ticker
import numpy as np

# The number of bins per factor of ten.
_BINS = 6


@style.styled
def plot_client_sizes(
  sizes: Mapping[str, Mapping[str, np.ndarray]], *, title: str
) -> mpl_figure.Figure:
  """Plots numbers of clients by size: a panel per measure, a line per split.

  Args:
    sizes: The integers [number of clients] for each measure, such as
      'examples', and each split. Zeros have no place on the axis; the panel
      names their number.
    title: The title of the figure.
  """
  figure, axes = panels.new_grid(list(sizes), (3.5, 3.2), sharey=True)
  for axis, (measure, by_split) in zip(axes, sizes.items()):
    pooled = np.concatenate([np.asarray(v) for v in by_split.values()])
    edges = _log_edges(int(pooled.max(initial=1)))
    for split, look in style.series_looks(list(by_split)).items():
      values = by_split[split]
      counts, _ = np.histogram(values, edges)
      axis.stairs(
        counts,
        edges,
        # A baseline below 1 keeps a bar of one client visible.
        baseline=0.5,
        label=f'{split.replace("_", " ")}, '
        + text_table.count(f'{len(values):,}', 'client'),
        color=look['color'],
        linestyle=look['linestyle'],
        linewidth=1.4,
      )
    axis.set(xscale='log', yscale='log')
    axis.set_ylim(bottom=0.5)
    shown = pooled[pooled > 0]
    if shown.size:
      first = edges.searchsorted(shown.min()) - 1
      axis.set_xlim(edges[first] / 1.3, edges[-1] * 1.3)
    for dimension in (axis.xaxis, axis.yaxis):
      dimension.set_major_formatter(ticker.StrMethodFormatter('{x:,.0f}'))
      dimension.set_major_locator(ticker.LogLocator(numticks=6))
      dimension.set_minor_formatter(ticker.NullFormatter())
    panels.set_labels(axis, f'{measure.capitalize()} of a client', 'Clients')
    if empty := int((pooled == 0).sum()):
      axis.set_title(f'{empty:,} clients have none', fontsize=9, loc='right')
  entries = axes[0].get_legend_handles_labels()[0]
  if len(entries) > 1:
    panels.draw_legend(figure, entries)
  panels.set_figure_title(figure, title)
  return figure


def _log_edges(largest: int) -> np.ndarray:
  """Returns the borders of bins between integers, as even as possible."""
  decades = np.log10(largest + 1)
  exponents = np.linspace(0, decades, max(2, int(np.ceil(decades * _BINS)) + 1))
  return np.unique(np.ceil(10**exponents - 1e-9)) - 0.5
