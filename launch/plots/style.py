# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""How every plot looks: colours, sizes, labels, and how it is written.

The colours are those of Okabe and Ito, which colour-blind readers can tell
apart; line styles and markers differ too, for print in grey.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import functools
import io
import os
import textwrap
from typing import Any
from typing import NamedTuple

from fedfish_tff.simulation import files

import matplotlib
from matplotlib import axes as mpl_axes
from matplotlib import figure as mpl_figure
from matplotlib import ticker
from matplotlib.backends import backend_agg
import numpy as np

FORMATS = ('png', 'pdf', 'svg')
# Pixels an inch of bitmaps: a figure 7 inches wide fills a README's column.
BITMAP_DPI = 150
_POINTS_PER_INCH = 72

INK = '#222222'
MUTED = '#6f6f6f'
GRID = '#e3e3e3'

_RC = {
  'font.family': 'DejaVu Sans',
  'font.size': 10,
  'axes.titlesize': 11,
  'axes.titleweight': 'bold',
  'axes.titlelocation': 'left',
  'axes.titlepad': 9,
  'axes.labelsize': 10,
  'axes.labelcolor': INK,
  'axes.edgecolor': MUTED,
  'axes.linewidth': 0.8,
  'axes.spines.top': False,
  'axes.spines.right': False,
  'axes.grid': True,
  'axes.axisbelow': True,
  'grid.color': GRID,
  'grid.linewidth': 0.7,
  'xtick.color': MUTED,
  'ytick.color': MUTED,
  'xtick.labelcolor': INK,
  'ytick.labelcolor': INK,
  'xtick.labelsize': 9,
  'ytick.labelsize': 9,
  'lines.linewidth': 1.8,
  'lines.markersize': 5,
  'legend.frameon': False,
  'legend.fontsize': 9,
  'text.color': INK,
  'figure.titlesize': 12,
  'figure.titleweight': 'bold',
  'pdf.fonttype': 42,
  # Text stays text, and the same plot gives the same file.
  'svg.fonttype': 'none',
  'svg.hashsalt': 'fedfish_tff',
}


class SeriesStyle(NamedTuple):
  """The look of one method, the same in every plot.

  Attributes:
    color: A colour of the Okabe-Ito palette.
    linestyle: A Matplotlib line style.
    marker: A Matplotlib marker.
  """

  color: str
  linestyle: Any
  marker: str


_STYLES = (
  SeriesStyle('#0072B2', '-', 'o'),
  SeriesStyle('#D55E00', (0, (5, 1.5)), 's'),
  SeriesStyle('#009E73', (0, (1, 1)), '^'),
  SeriesStyle('#CC79A7', (0, (5, 1.5, 1, 1.5)), 'D'),
  SeriesStyle('#E69F00', (0, (3, 1, 1, 1, 1, 1)), 'v'),
  SeriesStyle('#56B4E9', (0, (8, 2)), 'P'),
  SeriesStyle('#000000', (0, (2, 2)), 'X'),
  # Not of that palette, whose yellow cannot be seen on white.
  SeriesStyle('#7A1F5C', (0, (10, 2, 2, 2)), '*'),
)
_TITLES = {
  'eval/global': 'global model on held-out clients',
  'eval/personalized': 'held-out clients after personalisation',
  'csb': 'clients against the server',
  'train': 'training clients',
}
_ACRONYMS = ('auc', 'mae', 'mse', 'rmse')
# The methods that most plots compare always look the same.
_FIXED_STYLES = {'FedAvg': 0, 'FedFish': 1, 'FedSGD': 2}


def series_styles(labels: Sequence[str]) -> dict[str, SeriesStyle]:
  """Returns a style for each label, distinct for the first eight.

  Args:
    labels: The labels, as the plot shows them. A label that starts with the
      name of FedAvg, FedFish or FedSGD gets that method's usual style; where
      there are several, the name alone, else the first of them.
  """
  taken = {}
  for label in sorted(labels, key=lambda label: label not in _FIXED_STYLES):
    index = _FIXED_STYLES.get(label.split(',')[0].strip())
    if index is not None and index not in taken.values():
      taken[label] = index
  free = [i for i in range(len(_STYLES)) if i not in taken.values()]
  rest = [label for label in labels if label not in taken]
  for position, label in enumerate(rest):
    order = free or range(len(_STYLES))
    taken[label] = order[position % len(order)]
  return {label: _STYLES[taken[label]] for label in labels}


def styled(plot: Callable[..., mpl_figure.Figure]) -> Callable[..., Any]:
  """Makes a plotting function draw in this module's style."""

  @functools.wraps(plot)
  def wrapped(*args: Any, **kwargs: Any) -> mpl_figure.Figure:
    with matplotlib.rc_context(_RC):
      return plot(*args, **kwargs)

  return wrapped


def new_figure(width: float, height: float) -> mpl_figure.Figure:
  """Returns an empty figure, in inches, that keeps its parts from overlapping.

  It belongs to no window and to no global state of Matplotlib.
  """
  return mpl_figure.Figure(figsize=(width, height), layout='constrained')


def save_figure(
  figure: mpl_figure.Figure, path: str | os.PathLike[str]
) -> None:
  """Writes a figure, whole or not at all, in the format of the path's suffix.

  Args:
    figure: The figure.
    path: A path that ends in .png, .pdf or .svg; its folder exists.

  Raises:
    errors.InputError: If the file cannot be written.
  """
  suffix = os.fspath(path).rpartition('.')[2]
  # More where the figure asks for it, as for print.
  dpi = max(BITMAP_DPI, figure.get_dpi())
  content = io.BytesIO()
  with matplotlib.rc_context(_RC):
    if suffix == 'png':
      # What `savefig` draws, which draws all of it once before that.
      figure.set_dpi(dpi)
      backend_agg.FigureCanvasAgg(figure).print_png(content)
    else:
      # Without a date, the same plot gives the same bytes.
      metadata = {'CreationDate' if suffix == 'pdf' else 'Date': None}
      figure.savefig(content, format=suffix, dpi=dpi, metadata=metadata)
  files.write_atomically(path, content.getvalue())


def metric_title(metric: str) -> str:
  """Returns a column's name as axes show it: 'Accuracy', 'Barrier in MSE'."""
  prefix, _, name = metric.rpartition('/')
  title = name.upper() if name in _ACRONYMS else name.replace('_', ' ')
  if prefix == 'csb':
    title = f'barrier in {title}'
  return title[0].upper() + title[1:]


def describe_metric(metric: str) -> str:
  """Returns 'Accuracy, global model on held-out clients', or the column."""
  what = _TITLES.get(metric.rpartition('/')[0])
  return f'{metric_title(metric)}, {what}' if what else metric


def format_value(value: float) -> str:
  """Returns a number as plots show it: three digits after the point."""
  plain = value == 0 or 0.01 <= abs(value) < 1000
  return f'{value:.3f}' if plain else f'{value:.3g}'


def byte_unit(largest: float) -> tuple[float, str]:
  """Returns the divisor and the name of the unit that suits `largest` bytes."""
  for exponent, unit in ((12, 'TB'), (9, 'GB'), (6, 'MB'), (3, 'kB')):
    if largest >= 10**exponent:
      return 10.0**exponent, unit
  return 1.0, 'bytes'


def wrap_text(text: str, width: float, size: float = 10) -> str:
  """Breaks a text into lines.

  Args:
    text: The text.
    width: The most that a line may be wide, in inches.
    size: The size of its letters, in points.
  """
  # Bold letters of DejaVu Sans are 0.65 of their size wide on average.
  columns = max(12, int(width * _POINTS_PER_INCH / (0.65 * size)))
  return '\n'.join(textwrap.wrap(text, columns, break_long_words=False))


def set_figure_title(figure: mpl_figure.Figure, title: str) -> None:
  """Writes the title of all panels, in as many lines as the figure needs."""
  size = _RC['figure.titlesize']
  figure.suptitle(
    wrap_text(title, figure.get_figwidth() - 0.1, size), x=0.01, ha='left'
  )


def draw_legend_below(figure: mpl_figure.Figure, axis: mpl_axes.Axes) -> None:
  """Draws the axis' legend under it, in as many columns as fit."""
  handles, labels = axis.get_legend_handles_labels()
  if not labels:
    return
  size = _RC['legend.fontsize']
  # The line before a label and the gap after it take seven letters' width.
  letters = max(map(len, labels)) + 7
  entry = letters * 0.6 * size / _POINTS_PER_INCH
  columns = max(1, min(len(labels), int(figure.get_figwidth() / entry)))
  rows = -(-len(labels) // columns)
  # The axis keeps its height.
  figure.set_figheight(
    figure.get_figheight() + rows * 1.5 * size / _POINTS_PER_INCH
  )
  figure.legend(
    handles,
    labels,
    loc='outside lower center',
    ncols=-(-len(labels) // rows),
    handlelength=3.5,
  )


def write_subtitle(axis: mpl_axes.Axes, text: str) -> None:
  """Writes a line between the axis' title, set before, and the axis."""
  axis.set_title(axis.get_title(loc='left'), loc='left', pad=22)
  axis.annotate(
    text,
    (0, 1),
    xycoords='axes fraction',
    xytext=(0, 7),
    textcoords='offset points',
    fontsize=9,
    color=MUTED,
  )


def share_limits(
  axis: mpl_axes.Axes, values: Iterable[np.ndarray], margin: float = 0.05
) -> tuple[float, float]:
  """Gives both axes one range, so that x = y is the diagonal; returns it."""
  pooled = np.concatenate([np.ravel(v) for v in values])
  pooled = pooled[np.isfinite(pooled)]
  low, high = (pooled.min(), pooled.max()) if pooled.size else (0.0, 1.0)
  pad = (high - low) * margin or abs(high) * margin or margin
  limits = float(low - pad), float(high + pad)
  axis.set_xlim(limits)
  axis.set_ylim(limits)
  axis.set_aspect('equal')
  for dimension in (axis.xaxis, axis.yaxis):
    dimension.set_major_locator(
      ticker.MaxNLocator(nbins=6, steps=[1, 2, 5, 10])
    )
  return limits


def draw_diagonal(axis: mpl_axes.Axes, limits: tuple[float, float]) -> None:
  """Draws the line x = y."""
  axis.plot(limits, limits, color=MUTED, linewidth=0.9, zorder=1)


def label_halves(
  axis: mpl_axes.Axes, above: str, below: str, *, width: float, size: float
) -> None:
  """Writes what it means to be on either side of the line x = y.

  Args:
    axis: The axis, with shared limits.
    above: What it means above the line.
    below: What it means below.
    width: The most that a line of text may be wide, in inches.
    size: The size of the letters, in points.
  """
  for position, text, ha, va in (
    ((0.02, 0.98), above, 'left', 'top'),
    ((0.98, 0.02), below, 'right', 'bottom'),
  ):
    axis.text(
      *position,
      wrap_text(text, width, size),
      transform=axis.transAxes,
      ha=ha,
      va=va,
      fontsize=size,
      fontstyle='italic',
      color=MUTED,
      zorder=2,
    )


def shade_range(
  axis: mpl_axes.Axes,
  xs: np.ndarray,
  ys: np.ndarray,
  color: str,
  *,
  alpha: float,
) -> None:
  """Shades from the lowest to the highest seed; nothing where there is one.

  Args:
    axis: The axis.
    xs: `[num_points]`.
    ys: `[num_seeds, num_points]`.
    color: The colour.
    alpha: How opaque, from 0 to 1.
  """
  if len(ys) > 1:
    axis.fill_between(
      xs,
      ys.min(axis=0),
      ys.max(axis=0),
      color=color,
      alpha=alpha,
      linewidth=0,
    )


def label_line_ends(
  axis: mpl_axes.Axes, ends: Mapping[str, tuple[float, float, str]]
) -> None:
  """Writes labels beside the right ends of lines, moved apart where needed.

  Args:
    axis: The axis, its limits final.
    ends: For each label, the end's x and y and the colour.
  """
  low, high = axis.get_ylim()
  figure_height = axis.get_figure().get_figheight()
  gap = 0.2 / figure_height / 0.75 * (high - low)
  placed = sorted(ends, key=lambda label: ends[label][1])
  heights = spread_apart([ends[label][1] for label in placed], gap)
  for label, height in zip(placed, heights):
    x, _, color = ends[label]
    axis.annotate(
      label,
      (x, height),
      xytext=(8, 0),
      textcoords='offset points',
      color=color,
      fontsize=9,
      fontweight='bold',
      va='center',
      annotation_clip=False,
    )


def spread_apart(positions: Sequence[float], gap: float) -> np.ndarray:
  """Returns sorted positions moved as little as a distance of `gap` needs.

  Args:
    positions: Positions in rising order.
    gap: The smallest distance between neighbours.
  """
  # Least squares under a minimal gap is isotonic regression of the positions
  # less their gaps: neighbours that violate the order share their mean.
  shifted = np.asarray(positions, np.float64) - gap * np.arange(len(positions))
  blocks = []
  for value in shifted:
    blocks.append([value, 1])
    while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
      mean, count = blocks.pop()
      total = blocks[-1][0] * blocks[-1][1] + mean * count
      blocks[-1][1] += count
      blocks[-1][0] = total / blocks[-1][1]
  means = np.repeat([b[0] for b in blocks], [int(b[1]) for b in blocks])
  return means + gap * np.arange(len(positions))
