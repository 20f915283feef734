# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A heat map of the division of classes among clients."""

from collections.abc import Sequence

from launch.plots import heat_map
from launch.plots import panels
from launch.plots import style

from matplotlib import axes as mpl_axes
from matplotlib import colors as mpl_colors
from matplotlib import figure as mpl_figure
from matplotlib import ticker
import numpy as np

# Up to this number clients keep their order and their names.
_MOST_NAMES = 32
_MOST_LETTERS = 16
_SIZES_HEIGHT = 0.8  # Inches.


@style.styled
def plot_label_partition(
  counts: np.ndarray,
  *,
  title: str,
  label: str = 'Class',
  client_names: Sequence[str] | None = None,
  class_names: Sequence[str] | None = None,
  class_groups: Sequence[str] | None = None,
) -> mpl_figure.Figure:
  """Plots classes by clients, below the clients' numbers of examples.

  A field's colour is the class's share of the client's examples, the same in
  all such plots. More than 32 clients are ordered by their largest class. Of
  more than 400, an evenly spaced selection is shown, as the figure says.

  Args:
    counts: The numbers of each client's examples of each class, int
      [num_clients, num_classes].
    title: The title of the figure.
    label: The name of what is counted, at the axis.
    client_names: The clients' names; by default their numbers.
    class_names: The classes' names; by default their numbers.
    class_groups: The name of each class' coarse class. Its classes stand
      together then, with a line between groups, and are named by it where
      there are many. By default there are none.
  """
  counts = np.asarray(counts)
  num_clients, num_classes = counts.shape
  class_names = list(class_names or map(str, range(num_classes)))
  client_names = list(client_names or map(str, range(num_clients)))
  group_names, groups = np.unique(
    class_groups or [''] * num_classes, return_inverse=True
  )
  order = np.argsort(groups, kind='stable')
  groups, counts = groups[order], counts[:, order]
  sizes = counts.sum(axis=1)
  shares = counts / np.maximum(sizes, 1)[:, None]
  columns = _choose_columns(shares)

  height = float(np.clip(0.17 * num_classes, 1.2, 4.2))
  figure, (upper, lower) = panels.new_grid(
    ['sizes', 'classes'],
    (7, (height + 1.9) / 2),
    columns=1,
    sharex=True,
    height_ratios=[_SIZES_HEIGHT, height],
  )
  _draw_sizes(upper, sizes[columns])
  # A square root distinguishes small shares from zero.
  norm = mpl_colors.PowerNorm(0.5, vmin=0, vmax=1)
  image = heat_map.draw_table(lower, shares[columns].T, norm=norm)
  for border in np.flatnonzero(np.diff(groups)) + 0.5:
    lower.axhline(border, color=style.MUTED, linewidth=0.5)
  step = -(-num_classes // _MOST_NAMES)
  class_names = [class_names[i] for i in order]
  heat_map.name_ticks(
    lower.yaxis, class_names, step=step, most_letters=_MOST_LETTERS
  )
  if class_groups and step > 1:
    step = -(-len(group_names) // _MOST_NAMES)
    middles = [
      np.flatnonzero(groups == i).mean() for i in range(len(group_names))
    ]
    names = [heat_map.shorten(name, _MOST_LETTERS) for name in group_names]
    lower.set_yticks(middles[::step], names[::step])
  if num_clients <= _MOST_NAMES:
    heat_map.name_ticks(lower.xaxis, client_names, most_letters=_MOST_LETTERS)
    x_label = 'Client'
  else:
    lower.set_xticks([])
    shown = f'{num_clients:,} clients'
    if len(columns) < num_clients:
      shown = f'{len(columns):,} of {shown}'
    x_label = f'{shown}, ordered by their largest class'
  y_label = f'{label} by coarse class' if class_groups else label
  panels.set_labels(lower, x_label, y_label)
  ticks = [0, 0.01, 0.05, 0.2, 0.5, 1]
  label = 'Share of the client'
  panels.draw_colorbar(image, lower, label, percent=True, ticks=ticks)
  panels.set_figure_title(figure, title)
  return figure


def _choose_columns(shares: np.ndarray) -> np.ndarray:
  """Returns the clients to draw, in the order of the columns."""
  num_clients = len(shares)
  if num_clients <= _MOST_NAMES:
    return np.arange(num_clients)
  order = np.lexsort((-shares.max(axis=1), shares.argmax(axis=1)))
  count = min(num_clients, heat_map.MOST_COLUMNS)
  return order[np.linspace(0, num_clients - 1, count).round().astype(int)]


def _draw_sizes(axis: mpl_axes.Axes, sizes: np.ndarray) -> None:
  width = 0.8 if len(sizes) <= _MOST_NAMES else 1.0
  axis.bar(np.arange(len(sizes)), sizes, width, color=style.MUTED, linewidth=0)
  axis.set_ylim(0, sizes.max() * 1.08)
  axis.grid(False, axis='x')
  axis.tick_params(axis='x', length=0)
  axis.yaxis.set_major_locator(ticker.MaxNLocator(3, integer=True))
  axis.yaxis.set_major_formatter(ticker.StrMethodFormatter('{x:,.0f}'))
  axis.set_ylabel('Examples')
