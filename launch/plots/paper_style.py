# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""How the layouts for a paper look: its columns, small letters, no titles."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import functools
from typing import Any
from typing import NamedTuple

from launch.plots import style
from launch.results import method_labels

import matplotlib
from matplotlib import axes as mpl_axes
from matplotlib import figure as mpl_figure
from matplotlib import lines as mpl_lines
from matplotlib import textpath
from matplotlib import ticker

# Widths in inches, of pages in two columns such as those of ICML.
COLUMN_WIDTH = 3.25
PAGE_WIDTH = 6.75
_MAX_COLUMNS = 3
_PRINT_DPI = 300

_LABEL_SIZE = 8
_TICK_SIZE = 7
_LEGEND_SIZE = 7.5
_LEGEND_SPACES = {
  'handlelength': 2.6,
  'columnspacing': 1.2,
  'handletextpad': 0.5,
  'labelspacing': 0.3,
}
_RC = {
  'font.size': _LABEL_SIZE,
  'axes.titlesize': _LABEL_SIZE,
  'axes.titlepad': 4,
  'axes.labelsize': _LABEL_SIZE,
  'axes.labelpad': 2.5,
  'axes.linewidth': 0.6,
  'grid.linewidth': 0.5,
  'lines.linewidth': 1.3,
  'lines.markersize': 4,
  'legend.fontsize': _LEGEND_SIZE,
}
# From many local epochs to few.
_EPOCH_LINES = ('-', (0, (4, 1.2)), (0, (1, 1)), (0, (5, 1.2, 1, 1.2)))
EPOCH_MARKERS = ('o', 's', '^', 'D', 'v', 'P', 'X', '*')


class Drawing(NamedTuple):
  """A figure without a title, and the caption that says what it shows."""

  figure: mpl_figure.Figure
  caption: str


def styled(plot: Callable[..., Drawing]) -> Callable[..., Drawing]:
  """Makes a plotting function draw in this module's style."""

  @functools.wraps(plot)
  @style.styled
  def wrapped(*args: Any, **kwargs: Any) -> Drawing:
    with matplotlib.rc_context(_RC):
      return plot(*args, **kwargs)

  return wrapped


def new_grid(
  count: int, height: float, columns: int | None = None
) -> tuple[mpl_figure.Figure, list[Any]]:
  """Returns a figure and the places of `count` panels, row by row.

  One panel fills a column of the paper, several fill the page.

  Args:
    count: The number of panels.
    height: Of a panel, in inches.
    columns: Panels a row; by default as many as fit.
  """
  columns = columns or max(1, min(count, _MAX_COLUMNS))
  rows = -(-count // columns)
  width = COLUMN_WIDTH if columns == 1 else PAGE_WIDTH
  figure = style.new_figure(width, height * rows)
  figure.set_dpi(_PRINT_DPI)
  figure.get_layout_engine().set(
    w_pad=0.03, h_pad=0.03, wspace=0.02, hspace=0.04
  )
  grid = figure.add_gridspec(rows, columns)
  return figure, [grid[i // columns, i % columns] for i in range(count)]


def set_up_axis(axis: mpl_axes.Axes, title: str = '') -> None:
  """Sets what Matplotlib would else take from the style when it writes."""
  axis.tick_params(labelsize=_TICK_SIZE, length=2.5, width=0.6, pad=2)
  if title:
    width = axis.get_figure().get_figwidth()
    columns = axis.get_subplotspec().get_gridspec().ncols
    axis.set_title(style.wrap_text(title, width / columns - 0.1, _LABEL_SIZE))


def set_x_ticks(axis: mpl_axes.Axes, largest: float) -> str:
  """Writes large numbers of steps in thousands; returns what labels add."""
  divisor, unit = 1.0, ''
  for power, name in ((1e9, 'billions'), (1e6, 'millions'), (1e4, 'thousands')):
    if largest >= power:
      divisor, unit = (1e3 if power == 1e4 else power), f' ({name})'
      break
  axis.xaxis.set_major_locator(
    ticker.MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10])
  )
  axis.xaxis.set_major_formatter(
    ticker.FuncFormatter(lambda x, _: f'{x / divisor:g}')
  )
  return unit


def epoch_lines(epochs: Sequence[int]) -> dict[int, Any]:
  """Returns a line style for each number of local epochs, the most one solid."""
  ordered = sorted(set(epochs), reverse=True)
  lines = {
    number: _EPOCH_LINES[i % len(_EPOCH_LINES)]
    for i, number in enumerate(ordered)
  }
  return dict(sorted(lines.items()))


def epoch_markers(epochs: Sequence[int]) -> dict[int, str]:
  """Returns a marker for each number of local epochs."""
  return {
    number: EPOCH_MARKERS[i % len(EPOCH_MARKERS)]
    for i, number in enumerate(sorted(set(epochs)))
  }


def method_handles(
  methods: Sequence[str],
  looks: Mapping[str, style.SeriesStyle],
  *,
  points: bool = False,
  lines: bool = True,
) -> list[mpl_lines.Line2D]:
  """Returns a legend's entries for methods.

  Args:
    methods: The methods.
    looks: Their styles.
    points: Whether to show the markers alone.
    lines: Whether the line styles are the methods' own, else solid.
  """
  return [
    mpl_lines.Line2D(
      [],
      [],
      color=looks[method].color,
      marker=looks[method].marker,
      linestyle=(
        'none' if points else looks[method].linestyle if lines else '-'
      ),
      markeredgewidth=0.5,
      markeredgecolor='white',
      label=method,
    )
    for method in methods
  ]


def epoch_handles(lines: Mapping[int, Any]) -> list[mpl_lines.Line2D]:
  """Returns a legend's entries for the line styles of local epochs."""
  return [
    mpl_lines.Line2D(
      [],
      [],
      color=style.INK,
      linestyle=linestyle,
      label=method_labels.count(number, 'local epoch'),
    )
    for number, linestyle in lines.items()
  ]


def draw_legend(
  figure: mpl_figure.Figure, *groups: Sequence[mpl_lines.Line2D]
) -> None:
  """Draws a legend under the panels, which keep their height.

  Args:
    figure: The figure.
    *groups: The entries, such as those of methods and those of local epochs;
      no column holds entries of two groups.
  """
  groups = [list(group) for group in groups if group]
  rows = _count_rows(
    [[handle.get_label() for handle in group] for group in groups],
    figure.get_figwidth(),
  )
  handles = []
  for group in groups:
    handles += group
    handles += [mpl_lines.Line2D([], [], alpha=0, label=' ')] * (
      -len(group) % rows
    )
  figure.set_figheight(
    figure.get_figheight() + (rows * 1.35 + 0.8) * _LEGEND_SIZE / 72
  )
  figure.legend(
    handles=handles,
    loc='outside lower center',
    ncols=len(handles) // rows,
    borderaxespad=0.2,
    **_LEGEND_SPACES,
  )


def _count_rows(groups: Sequence[Sequence[str]], width: float) -> int:
  """Returns the fewest rows with which a legend fits into so many inches."""
  before = _LEGEND_SPACES['handlelength'] + _LEGEND_SPACES['handletextpad']
  spaces = before + _LEGEND_SPACES['columnspacing']
  most = max(map(len, groups))
  for rows in range(1, most):
    columns = [
      group[i : i + rows]
      for group in groups
      for i in range(0, len(group), rows)
    ]
    needed = sum(max(map(_text_width, column)) for column in columns)
    needed += (len(columns) * spaces + 1) * _LEGEND_SIZE / 72
    if needed <= width:
      return rows
  return most


def _text_width(text: str) -> float:
  """Returns the width of a legend's label, in inches."""
  path = textpath.TextPath((0, 0), text or ' ', size=_LEGEND_SIZE)
  return path.get_extents().width / 72


def join_words(words: Sequence[Any], conjunction: str = 'and') -> str:
  """Returns 'a', 'a and b' or 'a, b and c'."""
  *rest, last = map(str, words)
  return f'{", ".join(rest)} {conjunction} {last}' if rest else last


def seeds_phrase(counts: Sequence[int]) -> str:
  """Returns '3 seeds', or '2 to 3 seeds' where settings have not as many."""
  low, high = min(counts), max(counts)
  if low == high:
    return method_labels.count(high, 'seed')
  return f'{low} to {high} seeds'


def per_task(values: Mapping[str, Any]) -> str:
  """Returns '8', or '8 (emnist) and 16 (cifar100)' where tasks differ."""
  distinct = set(values.values())
  if len(distinct) == 1:
    return str(distinct.pop())
  return join_words([f'{value} ({task})' for task, value in values.items()])
