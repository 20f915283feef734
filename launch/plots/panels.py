# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The grid of panels that all plots use, and elements that panels share."""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import itertools
import math
from typing import Any
from typing import NamedTuple

from fedfish_tff.evaluation import metric_names
from launch.plots import style
from launch.results import text_table

import matplotlib
from matplotlib import artist
from matplotlib import axes as mpl_axes
from matplotlib import cm
from matplotlib import figure as mpl_figure
from matplotlib import font_manager
from matplotlib import lines as mpl_lines
from matplotlib import ticker
import numpy as np
import pandas as pd

# Widths in inches; papers have pages of two columns, such as those of ICML.
_LEAST_WIDTH = 4.8
PAPER_COLUMN, PAPER_PAGE = 3.25, 6.75
WIDTHS = {'column': PAPER_COLUMN, 'page': PAPER_PAGE}
# The least width of panels side by side, and the range of their heights, in
# figures of a given width.
_LEAST_PANEL = 1.6
_HEIGHTS = 1.7, 3.4
# Bands of more lines would hide each other.
MOST_BANDS = 4
# The line styles from many local epochs to few.
_EPOCH_LINES = ('-', (0, (4, 1.2)), (0, (1, 1)), (0, (5, 1.2, 1, 1.2)))
# The area of points in figures of a paper.
PAPER_POINT = 12
_DIAGONAL = {'color': style.MUTED, 'linewidth': 0.9, 'zorder': 1}
_EPOCH_MARKERS = ('o', 's', '^', 'D', 'v', 'P', 'X', '*')


class Drawing(NamedTuple):
  """A figure, and the caption that tells what it does not; '' for none."""

  figure: mpl_figure.Figure
  caption: str


def new_grid(
  cells: Sequence[Any],
  size: tuple[float, float],
  *,
  columns: int = 3,
  least_width: float = _LEAST_PANEL,
  **sharing: Any,
) -> tuple[mpl_figure.Figure, list[mpl_axes.Axes]]:
  """Returns a figure and the axes of the cells that are not None.

  Args:
    cells: The contents of panels, row by row; None leaves a gap.
    size: The width and the height of a panel, in inches; panels as wide as a
      paper's column become narrower if they would not fit the page. In figures
      of a given width, they keep about their shape.
    columns: The most panels side by side; fewer, without gaps, where a given
      width has no room for them.
    least_width: The least width of panels side by side in figures of a given
      width, in inches.
    **sharing: The options of `Figure.subplots`, for example `sharey=True`.
  """
  columns = min(columns, len(cells))
  height, given = size[1], style.figure_width()
  if given:
    if columns * least_width > given:
      cells = [cell for cell in cells if cell is not None]
      columns = min(int(given / least_width), len(cells))
    width = given
    height = float(np.clip(height * given / (columns * size[0]), *_HEIGHTS))
  elif size[0] == PAPER_COLUMN:
    width = min(PAPER_PAGE, size[0] * columns)
  else:
    width = max(_LEAST_WIDTH, size[0] * columns)
  rows = -(-len(cells) // columns)
  figure = style.new_figure(width, height * rows)
  grid = figure.subplots(rows, columns, squeeze=False, **sharing)
  axes = []
  for axis, cell in itertools.zip_longest(grid.flat, cells):
    if cell is None:
      axis.remove()
    else:
      axes.append(axis)
  return figure, axes


def cell_width(axis: mpl_axes.Axes) -> float:
  """Returns the width of an axis's column of the figure, in inches."""
  figure = axis.get_figure()
  columns = axis.get_subplotspec().get_gridspec().ncols
  return figure.bbox.width / figure.dpi / columns


def _cell_height(axis: mpl_axes.Axes) -> float:
  figure = axis.get_figure()
  rows = axis.get_subplotspec().get_gridspec().nrows
  return figure.bbox.height / figure.dpi / rows


def set_labels(
  axis: mpl_axes.Axes, x: str, y: str, title: str = '', subtitle: str = ''
) -> None:
  """Writes titles and labels; y is only labelled at the left of the figure."""
  room = 0.78 * cell_width(axis)
  size = axis.xaxis.label.get_size()
  axis.set_xlabel(style.wrap_text(x, 1.25 * room, size))
  if axis.get_subplotspec().is_first_col():
    axis.set_ylabel(style.wrap_text(y, 0.78 * _cell_height(axis), size))
  small = _points('xtick.labelsize')
  # `wrap_text` assumes bold letters, which are wider.
  subtitle = style.wrap_text(subtitle, 1.25 * room, small)
  lines = subtitle.count('\n') + 1
  axis.set_title(
    style.wrap_text(title, room, axis.title.get_size()),
    pad=8 + 1.5 * small * lines if subtitle else None,
  )
  if subtitle:
    axis.annotate(
      subtitle,
      (0, 1),
      xycoords='axes fraction',
      xytext=(0, 7),
      textcoords='offset points',
      fontsize=small,
      color=style.MUTED,
    )


def _points(name: str) -> float:
  """Returns a size of letters of the style in points."""
  size = matplotlib.rcParams[name]
  return font_manager.FontProperties(size=size).get_size_in_points()


def write_above(axis: mpl_axes.Axes, texts: Mapping[float, str]) -> None:
  """Writes values by x between a panel and its title, away from lines."""
  for x, text in texts.items():
    axis.annotate(
      text,
      (x, 1),
      xycoords=('data', 'axes fraction'),
      xytext=(0, 3),
      textcoords='offset points',
      ha='center',
      fontsize=_points('xtick.labelsize'),
      fontweight='bold',
    )
  axis.set_title(axis.get_title('left'), pad=20)


def set_figure_title(figure: mpl_figure.Figure, title: str) -> None:
  """Writes the title above the panels, which keep their height."""
  size = _points('figure.titlesize')
  text = style.wrap_text(title, figure.get_figwidth() - 0.1, size)
  height = figure.suptitle(text, x=0.01, ha='left').get_window_extent().height
  figure.set_figheight(figure.get_figheight() + height / figure.dpi)


def strip(figure: mpl_figure.Figure) -> str:
  """Removes the title and the notes of a figure and returns them as a caption.

  Panels keep their size.
  """
  figure.draw_without_rendering()
  texts, spare = [], 0.0
  for title in figure.texts:
    texts.append(title.get_text())
    spare += title.get_window_extent().height
    title.set_text('')
  for legend in figure.legends[:]:
    texts.append(legend.get_title().get_text())
    height = legend.get_window_extent().height
    if legend.get_texts():
      legend.set_title(None)
      height -= legend.get_window_extent().height
    else:
      legend.remove()
    spare += height
  figure.set_figheight(figure.get_figheight() - spare / figure.dpi)
  told = [' '.join(text.split()).rstrip('.') for text in texts]
  return ' '.join(f'{text}.' for text in told if text)


def entry(label: str, **look: Any) -> mpl_lines.Line2D:
  """Returns an entry of a legend."""
  return mpl_lines.Line2D([], [], label=label, **look)


def series_looks(
  settings: pd.DataFrame, *, by_epochs: bool = True
) -> tuple[dict[str, style.Look], list[list[mpl_lines.Line2D]]]:
  """Returns the looks of settings and the groups of their legend's entries.

  Args:
    settings: The `method` and `local_epochs` by label; methods differ in their
      look.
    by_epochs: Whether line styles differ by local epochs, the most being solid.
  """
  methods = settings['method']
  looks = style.method_looks(methods)
  epochs = sorted(set(settings['local_epochs']), reverse=True)
  if not by_epochs or len(epochs) < 2:
    entries = [entry(m, **look) for m, look in looks.items()]
    return methods.map(looks).to_dict(), [entries]
  lines = dict(zip(epochs, itertools.cycle(_EPOCH_LINES)))
  of_settings = {
    label: looks[method] | {'linestyle': lines[number]}
    for label, method, number in zip(
      settings.index, methods, settings['local_epochs']
    )
  }
  solid = {'linestyle': '-'}
  return of_settings, [
    [entry(m, **look | solid) for m, look in looks.items()],
    [
      entry(name_epochs(n), color=style.INK, linestyle=lines[n])
      for n in reversed(epochs)
    ],
  ]


def epoch_markers(epochs: Iterable[int]) -> dict[int, str]:
  """Returns a marker for each number of local epochs."""
  return dict(zip(sorted(set(epochs)), itertools.cycle(_EPOCH_MARKERS)))


def name_epochs(number: int) -> str:
  """Returns '1 local epoch' or, for example, '8 local epochs'."""
  return text_table.count(number, 'local epoch')


def draw_legend(
  figure: mpl_figure.Figure, *groups: Sequence[artist.Artist], note: str = ''
) -> None:
  """Draws a legend and a note below the panels, which keep their height.

  Args:
    figure: The figure with its panels drawn.
    *groups: The groups of entries, such as those of methods and of local
      epochs. No column holds entries of two groups, unless there is room for
      only one column.
    note: The note for readers of the figure: the numbers of seeds and clients,
      the pooling, and warnings on comparability.
  """
  count = sum(map(len, groups))
  if not count and not note:
    return
  options = {}
  size = _points('legend.fontsize')
  # `wrap_text` assumes bold letters, which are wider.
  room = 1.15 * figure.get_figwidth()
  if note:
    options['title'] = style.wrap_text(note, room, size)
    options['title_fontproperties'] = {'size': size}
    options['alignment'] = 'left'
  for handle in itertools.chain(*groups):
    label = style.wrap_text(handle.get_label(), room - 0.6, size)
    handle.set_label(label)
  for rows in sorted({*range(1, max(map(len, groups), default=0) + 1), count}):
    handles = []
    for group in groups:
      fill = -len(group) % rows if rows < count else 0
      handles += [*group, *[entry(' ', alpha=0)] * fill]
    legend = figure.legend(
      handles=handles,
      loc='outside lower center',
      ncols=len(handles) // rows if rows else 1,
      **options,
    )
    legend.get_title().set_color(style.MUTED)
    box = legend.get_window_extent()
    if box.width <= figure.bbox.width or rows == count:
      figure.set_figheight(figure.get_figheight() + box.height / figure.dpi)
      return
    legend.remove()


def draw_lines(
  axis: mpl_axes.Axes,
  lines: Mapping[Any, tuple[np.ndarray, np.ndarray]],
  looks: Mapping[Any, style.Look],
  *,
  unit: str | None = None,
  log_ratio: float = math.inf,
) -> bool:
  """Draws means over seeds and returns whether x is logarithmic.

  Up to four lines have bands from the lowest to the highest seed. Each point
  has a marker. Solid lines lie below the others, so that they show
  through the gaps of those that would hide them.

  Args:
    axis: The axis of a panel.
    lines: The lines by label: x `[num_points]` and y `[num_seeds, num_points]`,
      masked where a seed has no value.
    looks: The looks by the same labels.
    unit: The unit of x, written with SI prefixes; None for plain numbers.
    log_ratio: The ratio of lines' ends above which x is logarithmic, since
      cheap lines would otherwise be squeezed at the left.
  """
  ends = [xs.max() for xs, _ in lines.values() if xs.max(initial=0) > 0]
  logarithmic = bool(ends) and max(ends) > log_ratio * min(ends)
  # From the bottom to the top.
  layers = sorted(lines, key=lambda label: looks[label]['linestyle'] != '-')
  for label, (xs, ys) in lines.items():
    # x of the initial model is 0, which has no logarithm.
    kept = xs > 0 if logarithmic else slice(None)
    xs, ys = xs[kept], ys[:, kept]
    layer = layers.index(label)
    look = looks[label] | _marker(axis, len(xs))
    color = look['color']
    if len(ys) > 1 and len(lines) <= MOST_BANDS:
      low, high = ys.min(axis=0), ys.max(axis=0)
      axis.fill_between(xs, low, high, color=color, alpha=0.14, linewidth=0)
    zorder = 2 + layer / len(layers)
    axis.plot(xs, ys.mean(axis=0), label=str(label), zorder=zorder, **look)
  axis.margins(x=0.02)
  if logarithmic:
    axis.set_xscale('log')
    axis.xaxis.set_minor_formatter(ticker.NullFormatter())
  else:
    bins = int(cell_width(axis)) + 2
    whole = max(ends, default=0) > 1
    steps = [1, 2, 2.5, 5, 10]
    locator = ticker.MaxNLocator(bins, steps=steps, integer=whole)
    axis.xaxis.set_major_locator(locator)
  axis.xaxis.set_major_formatter(
    ticker.StrMethodFormatter('{x:g}')
    if unit is None
    else ticker.EngFormatter(unit)
  )
  return logarithmic


def _marker(axis: mpl_axes.Axes, num_points: int) -> dict[str, float]:
  """Returns the size of a marker for each of a line's points."""
  usual = matplotlib.rcParams['lines.markersize']
  room = 0.75 * 72 * cell_width(axis) / max(num_points, 1)
  size = min(usual, max(1.0, 0.7 * room))
  return {'markersize': size, 'markeredgewidth': 0.6 * size / usual}


def draw_points(
  axis: mpl_axes.Axes, x: np.ndarray, y: np.ndarray, size: float, **options: Any
) -> cm.ScalarMappable:
  """Draws points with a thin edge; takes the options of `Axes.scatter`."""
  if style.figure_width():
    size = min(size, PAPER_POINT)
  edge = {'edgecolors': style.INK, 'linewidths': 0.4}
  return axis.scatter(x, y, size, zorder=3, **edge, **options)


def draw_cross(axis: mpl_axes.Axes, x: float, y: float) -> None:
  """Draws a cross above all points."""
  size = 2.4 * matplotlib.rcParams['lines.markersize']
  axis.plot(x, y, '+', color=style.INK, ms=size, mew=size / 6, zorder=5)


def limit_shares(axes: Iterable[mpl_axes.Axes], metric: str) -> None:
  """Keeps the range of y within 0 and 1 if the metric is a share.

  Args:
    axes: The axes with all of their lines; values beyond, as in per cent, stay
      in range.
    metric: The name of the metric, or a column.
  """
  axes = list(axes)
  ends = [end for axis in axes for end in axis.dataLim.intervaly]
  if not metric_names.is_share(metric) or min(ends) < 0 or max(ends) > 1:
    return
  for axis in axes:
    low, high = axis.get_ylim()
    axis.set_ylim(max(low, 0.0), min(high, 1.0))
    # No marker at the end of the range is cut in half.
    for line in axis.lines:
      line.set_clip_on(False)


def compare_axes(
  axis: mpl_axes.Axes,
  x: np.ndarray,
  y: np.ndarray,
  *,
  above: str = '',
  below: str = '',
) -> None:
  """Gives both axes one scale, fitted to values, and draws y = x.

  Args:
    axis: The axis of a panel.
    x: The values that the range of x must hold; non-finite ones are left out.
    y: The same for the range of y.
    above: The meaning of points above the line, written there; '' for none.
    below: The meaning of points below the line, written there; '' for none.
  """
  ends = [_ends(values) for values in (x, y)]
  span = max(high - low for low, high in ends) or 1.0
  # The words stand beyond the points, in two lines above and one below.
  room = (0.14 if below else 0.07), (0.25 if above else 0.07)
  limits = [
    (low - room[0] * span, low + (1 + room[1]) * span) for low, _ in ends
  ]
  _scale_equally(axis, *limits)
  axis.axline((0, 0), slope=1, **_DIAGONAL)
  size = axis.xaxis.label.get_size() - 1
  for position, text, ha, va in (
    ((0.02, 0.98), above, 'left', 'top'),
    ((0.98, 0.02), below, 'right', 'bottom'),
  ):
    if text:
      axis.text(
        *position,
        style.wrap_text(text, 0.6 * cell_width(axis), size),
        transform=axis.transAxes,
        ha=ha,
        va=va,
        fontsize=size,
        fontstyle='italic',
        color=style.MUTED,
        zorder=2,
      )


def equal_axes(
  axis: mpl_axes.Axes,
  values: np.ndarray,
  bounds: tuple[float, float] = (-math.inf, math.inf),
) -> None:
  """Gives both axes the same limits and draws y = x from corner to corner.

  Args:
    axis: The axis of a panel.
    values: The values that the limits must hold; non-finite ones are left out.
    bounds: The least and the largest possible value, which limits do not pass
      unless a value does.
  """
  low, high = _ends(values)
  room = 0.06 * (high - low or 1.0)
  limits = (
    max(low - room, min(bounds[0], low)),
    min(high + room, max(bounds[1], high)),
  )
  _scale_equally(axis, limits, limits)
  axis.plot(limits, limits, **_DIAGONAL)


def _scale_equally(
  axis: mpl_axes.Axes, x: tuple[float, float], y: tuple[float, float]
) -> None:
  axis.set(xlim=x, ylim=y, aspect='equal')
  for dimension in (axis.xaxis, axis.yaxis):
    dimension.set_major_locator(ticker.MaxNLocator(5, steps=[1, 2, 5, 10]))


def _ends(values: np.ndarray) -> tuple[float, float]:
  """Returns the least and the largest of the finite values."""
  finite = np.ravel(values)[np.isfinite(np.ravel(values))]
  return (finite.min(), finite.max()) if finite.size else (0.0, 1.0)


def draw_colorbar(
  image: cm.ScalarMappable,
  axes: mpl_axes.Axes | Sequence[mpl_axes.Axes],
  label: str,
  *,
  percent: bool = False,
  **options: Any,
) -> None:
  """Draws the colour bar of an image beside its axes."""
  figure = image.axes.get_figure()
  bar = figure.colorbar(image, ax=axes, **{'pad': 0.02, 'aspect': 24} | options)
  if percent:
    bar.ax.yaxis.set_major_formatter(ticker.PercentFormatter(1, decimals=0))
  bar.set_label(label)
  bar.outline.set_edgecolor(style.MUTED)
