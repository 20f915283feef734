# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The style of all plots: colours, sizes and labels, and their files.

The colours are those of Okabe and Ito, which colour-blind readers can
distinguish; line styles and markers differ, too, for print in grey.
"""

from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
import contextvars
import functools
import hashlib
import io
import itertools
import os
import re
import textwrap
from typing import Any
from typing import TypeVar
import zlib

from fedfish_tff.simulation import files
from launch import plain_text

import matplotlib
from matplotlib import figure as mpl_figure
from matplotlib import text as mpl_text
from matplotlib.backends import backend_agg

FORMATS = ('png', 'pdf', 'svg')
# File names are limited to 255 bytes, and temporary names are longer.
_MAX_SLUG = 80
# Pixels per inch of bitmaps: a figure 7 inches wide fills a README's column.
BITMAP_DPI = 150
_PRINT_DPI = 300

INK = '#222222'
MUTED = '#6f6f6f'
GRID = '#e3e3e3'
PALE = '#c4c4c4'

# The defaults are independent of styles that a program or its user has set.
_RC = {
  k: v
  for k, v in matplotlib.rcParamsDefault.items()
  # These two belong to the session: a notebook shows interactive figures.
  if k not in ('backend', 'interactive')
} | {
  # Names may have dollar signs.
  'text.parse_math': False,
  'axes.titlesize': 11,
  'axes.titleweight': 'bold',
  'axes.titlelocation': 'left',
  'axes.titlepad': 9,
  'axes.labelcolor': INK,
  'axes.edgecolor': MUTED,
  'axes.spines.top': False,
  'axes.spines.right': False,
  'axes.grid': True,
  'axes.axisbelow': True,
  'grid.color': GRID,
  'grid.linewidth': 0.7,
  **{f'{axis}tick.color': MUTED for axis in 'xy'},
  **{f'{axis}tick.labelcolor': INK for axis in 'xy'},
  **{f'{axis}tick.labelsize': 9 for axis in 'xy'},
  'lines.linewidth': 1.8,
  'lines.markersize': 5,
  'legend.frameon': False,
  'legend.fontsize': 9,
  'legend.handlelength': 3.2,
  'text.color': INK,
  'figure.titlesize': 12,
  'figure.titleweight': 'bold',
  'figure.constrained_layout.h_pad': 0.06,
  'pdf.fonttype': 42,
  # Text stays text, and equal plots give equal files.
  'svg.fonttype': 'none',
  'svg.hashsalt': 'fedfish_tff',
}
# Small letters for a paper's columns, and the resolution of print.
_PAPER_RC = _RC | {
  'font.size': 8,
  'axes.titlesize': 8,
  'figure.titlesize': 9,
  'axes.titlepad': 4,
  'axes.labelpad': 2.5,
  'axes.linewidth': 0.6,
  'grid.linewidth': 0.5,
  **{f'{axis}tick.labelsize': 7 for axis in 'xy'},
  **{f'{axis}tick.major.size': 2.5 for axis in 'xy'},
  **{f'{axis}tick.major.width': 0.6 for axis in 'xy'},
  **{f'{axis}tick.major.pad': 2 for axis in 'xy'},
  'lines.linewidth': 1.3,
  'lines.markersize': 4,
  'legend.fontsize': 7.5,
  'legend.handlelength': 2.6,
  'legend.handletextpad': 0.5,
  'legend.columnspacing': 1.2,
  'legend.labelspacing': 0.3,
  'figure.dpi': _PRINT_DPI,
  'figure.constrained_layout.w_pad': 0.03,
  'figure.constrained_layout.h_pad': 0.03,
  'figure.constrained_layout.hspace': 0.04,
}
# The width of figures in inches; None for as wide as their panels need.
_WIDTH = contextvars.ContextVar('width', default=None)
_Function = TypeVar('_Function', bound=Callable[..., Any])
# A decorator that makes a plotting function draw in the style of a paper.
styled_for_paper = matplotlib.rc_context(_PAPER_RC)


def styled(function: _Function) -> _Function:
  """Makes a plotting function draw for screens, or for a paper's width."""

  @functools.wraps(function)
  def draw(*args: Any, **kwargs: Any) -> Any:
    with matplotlib.rc_context(_RC if _WIDTH.get() is None else _PAPER_RC):
      return function(*args, **kwargs)

  return draw


@contextlib.contextmanager
def figures_of_width(width: float | None) -> Iterator[None]:
  """Makes figures of one width, with the letters of a paper.

  Args:
    width: The width in inches; None for as wide as their panels need.
  """
  token = _WIDTH.set(width)
  try:
    yield
  finally:
    _WIDTH.reset(token)


def figure_width() -> float | None:
  """Returns the width of `figures_of_width` in inches; None for none."""
  return _WIDTH.get()


# Options of `Axes.plot`: the look of one method, the same in every plot. Plum
# replaces the palette's yellow, which is invisible on white; the second eight
# are colours that differ from the first.
Look = dict[str, Any]
_COLORS = (
  ['#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9']
  + ['#000000', '#7A1F5C', '#332288', '#117733', '#999933', '#EE3377']
  + ['#44AA99', '#8C564B', '#7F7F7F', '#17BECF']
)
_DASHES = ['-', (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5))] + [
  (0, (3, 1, 1, 1, 1, 1)),
  (0, (8, 2)),
  (0, (2, 2)),
  (0, (10, 2, 2, 2)),
]
_MARKERS = 'os^DvPX*'
# The dashes of the second eight have other markers than those of the first.
_LOOKS = tuple(
  {
    'color': color,
    'linestyle': _DASHES[i % 8],
    'marker': _MARKERS[(i + 3 * (i // 8)) % 8],
    'markeredgecolor': 'white',
    'markeredgewidth': 0.6,
  }
  for i, color in enumerate(_COLORS)
)
# These methods always look the same; of others, the name decides. The last ones
# have looks of methods that they are seldom compared with.
_METHODS = {
  name: index
  for index, name in enumerate(
    ['FedAvg', 'FedFish', 'FedSGD', 'FedProx', 'SCAFFOLD', 'FedDyn', 'FedNova']
    + ['Mime Lite', 'FedPer', 'FedRep', 'LG-FedAvg', 'Ditto', 'HF-MAML']
    + ['Fed3R', 'Fed3R-RF', 'FedMA']
  )
} | {'FedAdam': 15, 'FedYogi': 14, 'FedAdagrad': 13, 'FedAvgM': 12}


def method_looks(labels: Iterable[str]) -> dict[str, Look]:
  """Returns a look for each label, distinct for the first sixteen.

  A label is the name of a method and, after a comma, its differences. The name
  alone, or else the first label with it, gets the method's look; others get
  that of their text, or the next one that is free.
  """
  labels = list(dict.fromkeys(labels))
  names = {label: label.partition(',')[0].strip() for label in labels}
  # Names of known methods come first, so that others do not take their looks.
  ordered = sorted(
    labels, key=lambda of: (names[of] not in _METHODS, of not in _METHODS)
  )
  taken = {}
  for label in ordered:
    name = names[label]
    wanted = _METHODS.get(name, -1)
    if wanted < 0 or wanted in taken.values():
      text = label if wanted >= 0 else name
      wanted = zlib.crc32(text.encode()) % len(_LOOKS)
    every = [(wanted + i) % len(_LOOKS) for i in range(len(_LOOKS))]
    free = (index for index in every if index not in taken.values())
    taken[label] = next(free, wanted)
  return {label: dict(_LOOKS[taken[label]]) for label in labels}


def series_looks(labels: Iterable[Hashable]) -> dict[Hashable, Look]:
  """Returns a look for each label of series that are no methods, in order."""
  return dict(zip(labels, map(dict, itertools.cycle(_LOOKS))))


def new_figure(width: float, height: float) -> mpl_figure.Figure:
  """Returns an empty figure of a size in inches, with parts kept apart.

  It belongs to no window and no global state of Matplotlib.
  """
  return mpl_figure.Figure(figsize=(width, height), layout='constrained')


def save_figure(
  figure: mpl_figure.Figure, path: str | os.PathLike[str]
) -> None:
  """Writes a figure atomically, in the format of the path's suffix.

  The path ends in .png, .pdf or .svg, and its folder exists.
  """
  suffix = os.fspath(path).rpartition('.')[2]
  # A figure may ask for a higher resolution, as for print.
  dpi = max(BITMAP_DPI, figure.dpi)
  # Ticks are made now, so that they need the style.
  look = styled_for_paper if dpi == _PRINT_DPI else styled
  look(_make_plain)(figure)
  content = io.BytesIO()
  if suffix == 'png':
    # Equals `savefig`, which would draw the figure twice.
    figure.dpi = dpi
    look(backend_agg.FigureCanvasAgg(figure).print_png)(content)
  else:
    # Without a date, equal plots give equal bytes.
    metadata = {'CreationDate' if suffix == 'pdf' else 'Date': None}
    look(figure.savefig)(content, format=suffix, dpi=dpi, metadata=metadata)
  files.write_atomically(path, content.getvalue())


def _make_plain(figure: mpl_figure.Figure) -> None:
  for text in figure.findobj(mpl_text.Text):
    text.set_text(plain_text.lines(text.get_text()))


def slug(text: str) -> str:
  """Returns a file name for a text, unique even if it is cut short."""
  name = re.sub(r'[^a-z0-9.]+', '_', text.lower()).strip('_.')
  return name if len(name) <= _MAX_SLUG else _cut(name, text)


def slugs(texts: Iterable[str]) -> dict[str, str]:
  """Returns a file name for each text; -0.1 and 0.1 have equal slugs."""
  found = {text: slug(text) for text in texts}
  names = list(found.values())
  return {
    text: name if names.count(name) == 1 else _cut(name, text)
    for text, name in found.items()
  }


def _cut(name: str, text: str) -> str:
  """Returns the start of a name, and digits that tell its text."""
  digest = hashlib.sha256(text.encode()).hexdigest()[:8]
  return f'{name[:_MAX_SLUG]}_{digest}'


def format_value(value: float) -> str:
  """Returns a number for plots, with three digits after the point."""
  plain = value == 0 or 0.01 <= abs(value) < 1000
  return f'{value:.3f}' if plain else f'{value:.3g}'


def wrap_text(text: str, width: float, size: float = 10) -> str:
  """Breaks a text into lines.

  Args:
    text: The text, in one line or several.
    width: The largest width of a line, in inches.
    size: The size of the letters, in points.
  """
  # On average, bold letters of DejaVu Sans have a width of 0.65 of their size.
  columns = max(12, int(width * 72 / (0.65 * size)))
  return '\n'.join(textwrap.wrap(text, columns, break_long_words=False))
