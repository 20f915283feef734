# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""How many clients are how large: a histogram with logarithmic axes."""

from collections.abc import Mapping

from launch.plots import style

from matplotlib import axes as mpl_axes
from matplotlib import figure as mpl_figure
from matplotlib import ticker
import numpy as np

# Bins to a factor of ten.
_BINS = 6


@style.styled
def plot_client_sizes(
  sizes: Mapping[str, Mapping[str, np.ndarray]],
  *,
  title: str = 'Sizes of clients',
) -> mpl_figure.Figure:
  """Plots the number of clients by size, a panel a measure, a line a split.

  Args:
    sizes: For each measure, such as 'examples', and each split, integers
      [number of clients]. Where they are 0 they have no place on the axis, and
      the panel says how many they are.
    title: The title.

  Returns:
    The figure.
  """
  figure = style.new_figure(3.5 * len(sizes), 3.2)
  (axes,) = figure.subplots(1, len(sizes), sharey=True, squeeze=False)
  for axis, (measure, by_split) in zip(axes, sizes.items(), strict=True):
    _draw(axis, measure, by_split)
  axes[0].set_ylabel('Clients')
  if len(next(iter(sizes.values()))) > 1:
    style.draw_legend_below(figure, axes[0])
  style.set_figure_title(figure, title)
  return figure


def _draw(
  axis: mpl_axes.Axes, measure: str, by_split: Mapping[str, np.ndarray]
) -> None:
  pooled = np.concatenate([np.asarray(v) for v in by_split.values()])
  edges = _log_edges(int(pooled.max(initial=1)))
  styles = style.series_styles(list(by_split))
  axis.set_xscale('log')
  axis.set_yscale('log')
  for split, values in by_split.items():
    counts, _ = np.histogram(values, edges)
    axis.stairs(
      counts,
      edges,
      # A bar of one client stands on the axis, and is seen.
      baseline=0.5,
      label=f'{split.replace("_", " ")}, {len(values):,} clients',
      color=styles[split].color,
      linestyle=styles[split].linestyle,
      linewidth=1.4,
    )
  axis.set_ylim(bottom=0.5)
  shown = pooled[pooled > 0]
  if shown.size:
    first = edges.searchsorted(shown.min()) - 1
    axis.set_xlim(edges[first] / 1.3, edges[-1] * 1.3)
  axis.yaxis.set_major_formatter(ticker.StrMethodFormatter('{x:,.0f}'))
  axis.xaxis.set_major_formatter(ticker.StrMethodFormatter('{x:,.0f}'))
  for dimension in (axis.xaxis, axis.yaxis):
    dimension.set_major_locator(ticker.LogLocator(numticks=6))
    dimension.set_minor_formatter(ticker.NullFormatter())
  axis.set_xlabel(f'{measure.capitalize()} of a client')
  empty = int((pooled == 0).sum())
  if empty:
    axis.set_title(f'{empty:,} clients have none', fontsize=9, loc='right')


def _log_edges(largest: int) -> np.ndarray:
  """Returns borders of bins, between integers, as even as these allow."""
  decades = np.log10(largest + 1)
  exponents = np.linspace(0, decades, max(2, int(np.ceil(decades * _BINS)) + 1))
  return np.unique(np.ceil(10**exponents - 1e-9)) - 0.5
