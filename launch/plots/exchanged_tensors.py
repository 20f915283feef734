# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which of a model's tensors clients have sent in each round: a heat map."""

from collections.abc import Mapping
from collections.abc import Sequence
import itertools

from launch.plots import style

from matplotlib import axes as mpl_axes
from matplotlib import figure as mpl_figure
from matplotlib import ticker
import numpy as np

# One hue from light to dark: the same order in grey.
_COLORS = 'Blues'
# Up to here each tensor has its name; of more, only groups do.
_MOST_NAMES = 45
_MOST_LETTERS = 34
_MOST_COLUMNS = 400
_ROW_INCHES = 0.19
_LEAST_HEIGHT, _MOST_HEIGHT = 1.9, 8.6
# A line of small letters.
_NAME_INCHES = 0.135


@style.styled
def plot_exchanged_tensors(
  shares: Mapping[str, np.ndarray],
  rounds: np.ndarray,
  *,
  what: str = 'Share of the clients that sent it',
  title: str = 'What clients have sent',
) -> mpl_figure.Figure:
  """Plots tensors, from the model's first at the top, by rounds.

  Many tensors are named by the parts of the model that they are in, which are
  as small as there is room for names. Of more than 400 rounds, neighbours are
  averaged.

  Args:
    shares: By the tensor's name, from 0 to 1, `[num_rounds]`; NaN where nothing
      was measured.
    rounds: The rounds, rising, `[num_rounds]`.
    what: What the shares are.
    title: The title.

  Returns:
    The figure.
  """
  names = list(shares)
  table = np.array([shares[name] for name in names], np.float64)
  step = -(-len(rounds) // _MOST_COLUMNS)
  table, starts = _average(table, step), rounds[::step]
  height = np.clip(_ROW_INCHES * len(names), _LEAST_HEIGHT, _MOST_HEIGHT)
  figure = style.new_figure(7, height + 1.2)
  axis = figure.subplots()
  axis.set_facecolor(style.GRID)
  image = axis.imshow(
    np.ma.masked_invalid(table),
    aspect='auto',
    interpolation='nearest',
    cmap=_COLORS,
    vmin=0,
    vmax=1,
    extent=(
      float(rounds[0]) - 0.5,
      float(starts[-1]) + step - 0.5,
      len(names) - 0.5,
      -0.5,
    ),
  )
  axis.grid(False)
  axis.tick_params(length=0)
  if max(table.shape) <= _MOST_NAMES:
    for border in np.arange(1, len(names)) - 0.5:
      axis.axhline(border, color='white', linewidth=1)
    for border in rounds[1:] - 0.5:
      axis.axvline(border, color='white', linewidth=1)
  _name_rows(axis, names, height / len(names))
  axis.xaxis.set_major_locator(
    ticker.MaxNLocator(nbins=10, steps=[1, 2, 5, 10], integer=True)
  )
  axis.set_xlabel('Round')
  bar = figure.colorbar(image, ax=axis, pad=0.015, aspect=10 * height)
  bar.ax.yaxis.set_major_formatter(ticker.PercentFormatter(1, decimals=0))
  bar.set_label(what, fontsize=9)
  bar.outline.set_edgecolor(style.MUTED)
  style.set_figure_title(figure, title)
  return figure


def _average(table: np.ndarray, step: int) -> np.ndarray:
  """Returns means over every `step` columns; NaN counts for nothing."""
  if step == 1:
    return table
  edges = np.arange(0, table.shape[1], step)
  known = np.isfinite(table)
  totals = np.add.reduceat(np.where(known, table, 0.0), edges, axis=1)
  counts = np.add.reduceat(known.astype(float), edges, axis=1)
  return np.divide(
    totals, counts, out=np.full(totals.shape, np.nan), where=counts > 0
  )


def _name_rows(
  axis: mpl_axes.Axes, names: Sequence[str], row_inches: float
) -> None:
  if len(names) <= _MOST_NAMES:
    axis.set_yticks(np.arange(len(names)), [_shorten(n) for n in names])
    axis.tick_params(axis='y', labelsize=9 if len(names) <= 25 else 8)
    return
  room = _NAME_INCHES / row_inches
  ticks, labels, start = [], [], 0
  for prefix, size in _divide(names, 1, room):
    middle = start + (size - 1) / 2
    # Parts that cannot be told apart further may still be too small.
    if not ticks or middle - ticks[-1] >= room:
      ticks.append(middle)
      labels.append(_shorten(prefix))
    start += size
    if start < len(names):
      axis.axhline(start - 0.5, color=style.INK, linewidth=0.8)
  axis.set_yticks(ticks, labels)
  axis.tick_params(axis='y', labelsize=8)
  axis.set_ylabel(f'{len(names)} tensors, by the part that they are in')


def _divide(
  names: Sequence[str], depth: int, room: float
) -> list[tuple[str, int]]:
  """Returns neighbours that begin alike, as (beginning, how many).

  Args:
    names: The names of tensors, their parts divided by slashes.
    depth: The number of parts to begin with.
    room: The fewest tensors that a part is divided into.
  """
  divided = []
  for prefix, members in itertools.groupby(
    names, key=lambda name: '/'.join(name.split('/')[:depth])
  ):
    members = list(members)
    parts = [(prefix, len(members))]
    if any(name.count('/') >= depth for name in members):
      finer = _divide(members, depth + 1, room)
      if all(size >= room for _, size in finer):
        parts = finer
    divided += parts
  return divided


def _shorten(name: str) -> str:
  """Cuts the beginning off: what tells tensors apart is at the end."""
  if len(name) <= _MOST_LETTERS:
    return name
  return '…' + name[-(_MOST_LETTERS - 1) :]
