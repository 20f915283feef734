# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""How a partition divides classes among clients: a heat map of the two."""

from collections.abc import Sequence

from launch.plots import style

from matplotlib import axes as mpl_axes
from matplotlib import colors
from matplotlib import figure as mpl_figure
from matplotlib import ticker
import numpy as np

# From white for none to almost black for all: the same order in grey.
_COLORS = colors.LinearSegmentedColormap.from_list(
  'share', ['#ffffff', '#56B4E9', '#0072B2', '#001f33']
)
# Up to here clients keep their order and their names.
_MOST_NAMES = 32
_MOST_LETTERS = 16
# More columns than a figure has room for would be mixed by the renderer.
_MOST_COLUMNS = 400


@style.styled
def plot_label_partition(
  counts: np.ndarray,
  *,
  client_names: Sequence[str] | None = None,
  class_names: Sequence[str] | None = None,
  class_groups: Sequence[str] | None = None,
  title: str = 'Clients and classes',
) -> mpl_figure.Figure:
  """Plots clients x classes, and above it how many examples clients have.

  A field is as dark as the class' share of the client's examples; colours mean
  the same in every such plot. More than 32 clients are ordered by their largest
  class; of more than 400 an evenly spaced selection is shown, and the figure
  says so.

  Args:
    counts: int [num_clients, num_classes], each client's examples of a class.
    client_names: The clients' names; by default their numbers.
    class_names: The classes' names; by default their numbers.
    class_groups: The name of each class' coarse class. Its classes stand
      together then, with a line between groups, and are named by it where
      there are many. By default there are none.
    title: The title.

  Returns:
    The figure.
  """
  counts = np.asarray(counts)
  num_clients, num_classes = counts.shape
  class_names = list(class_names or map(str, range(num_classes)))
  client_names = list(client_names or map(str, range(num_clients)))
  groups = np.zeros(num_classes, int)
  if class_groups is not None:
    group_names, groups = np.unique(class_groups, return_inverse=True)
    order = np.argsort(groups, kind='stable')
    groups, counts = groups[order], counts[:, order]
    class_names = [class_names[i] for i in order]
  sizes = counts.sum(axis=1)
  shares = counts / np.maximum(sizes, 1)[:, None]
  columns = _choose_columns(shares)

  figure = style.new_figure(7, 1.9 + np.clip(0.17 * num_classes, 1.2, 4.2))
  heights = [0.8, figure.get_figheight() - 1.9]
  upper, lower = figure.subplots(
    2, 1, sharex=True, gridspec_kw={'height_ratios': heights}
  )
  _draw_sizes(upper, sizes[columns])
  image = lower.imshow(
    shares[columns].T,
    aspect='auto',
    interpolation='nearest',
    cmap=_COLORS,
    # A square root, so that small shares can be told from none.
    norm=colors.PowerNorm(0.5, vmin=0, vmax=1),
  )
  lower.grid(False)
  for border in np.flatnonzero(np.diff(groups)) + 0.5:
    lower.axhline(border, color=style.MUTED, linewidth=0.5)
  if class_groups is not None and num_classes > _MOST_NAMES:
    _name_groups(lower, group_names, groups)
  else:
    _name_rows(lower, class_names)
  _name_columns(lower, [client_names[i] for i in columns], num_clients)
  lower.set_ylabel('Class' if class_groups is None else 'Class by coarse class')
  bar = figure.colorbar(image, ax=lower, pad=0.015, aspect=18)
  bar.set_ticks([0, 0.01, 0.05, 0.2, 0.5, 1])
  bar.ax.yaxis.set_major_formatter(ticker.PercentFormatter(1, decimals=0))
  bar.set_label('Share of the client', fontsize=9)
  bar.outline.set_edgecolor(style.MUTED)
  style.set_figure_title(figure, title)
  return figure


def _choose_columns(shares: np.ndarray) -> np.ndarray:
  """Returns the clients to draw, in the order of the columns."""
  num_clients = len(shares)
  if num_clients <= _MOST_NAMES:
    return np.arange(num_clients)
  order = np.lexsort((-shares.max(axis=1), shares.argmax(axis=1)))
  if num_clients <= _MOST_COLUMNS:
    return order
  chosen = np.linspace(0, num_clients - 1, _MOST_COLUMNS)
  return order[np.round(chosen).astype(int)]


def _draw_sizes(axis: mpl_axes.Axes, sizes: np.ndarray) -> None:
  if len(sizes) <= _MOST_NAMES:
    axis.bar(np.arange(len(sizes)), sizes, color=style.MUTED, linewidth=0)
  else:
    edges = np.arange(len(sizes) + 1) - 0.5
    axis.stairs(sizes, edges, fill=True, color=style.GRID)
    axis.stairs(sizes, edges, color=style.MUTED, linewidth=0.9)
  axis.set_ylim(0, sizes.max() * 1.08)
  axis.grid(False, axis='x')
  axis.tick_params(axis='x', length=0, labelbottom=False)
  axis.yaxis.set_major_locator(ticker.MaxNLocator(3, integer=True))
  axis.yaxis.set_major_formatter(ticker.StrMethodFormatter('{x:,.0f}'))
  axis.set_ylabel('Examples')


def _name_rows(axis: mpl_axes.Axes, names: Sequence[str]) -> None:
  """Names the classes, or every so many of them where they are many."""
  step = -(-len(names) // _MOST_NAMES)
  axis.set_yticks(
    np.arange(0, len(names), step), [_shorten(n) for n in names[::step]]
  )
  axis.tick_params(axis='y', length=0, labelsize=9 if len(names) <= 20 else 7)


def _name_groups(
  axis: mpl_axes.Axes, names: Sequence[str], groups: np.ndarray
) -> None:
  """Names every group in the middle of its rows."""
  middles = [np.flatnonzero(groups == i).mean() for i in range(len(names))]
  step = -(-len(names) // _MOST_NAMES)
  axis.set_yticks(middles[::step], [_shorten(n) for n in names[::step]])
  axis.tick_params(axis='y', length=0, labelsize=7)


def _name_columns(
  axis: mpl_axes.Axes, names: Sequence[str], num_clients: int
) -> None:
  """Names the clients where they are few; otherwise says what is shown."""
  axis.tick_params(axis='x', length=0)
  if num_clients <= _MOST_NAMES:
    names = [_shorten(name) for name in names]
    is_long = max(map(len, names)) * len(names) > 70
    axis.set_xticks(np.arange(len(names)), names, rotation=90 if is_long else 0)
    axis.set_xlabel('Client')
    return
  axis.set_xticks([])
  shown = f'{num_clients:,} clients'
  if len(names) < num_clients:
    shown = f'{len(names):,} of {num_clients:,} clients'
  axis.set_xlabel(f'{shown}, ordered by their largest class')


def _shorten(name: str) -> str:
  if len(name) <= _MOST_LETTERS:
    return name
  return name[: _MOST_LETTERS - 1] + '…'
