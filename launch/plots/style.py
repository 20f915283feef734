# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The style of all plots: colours, sizes and labels, and their files.

The colours are those of Okabe and Ito, which colour-blind readers can
distinguish; line styles and markers differ, too, for print in grey.
"""

from collections.abc import Sequence
import hashlib
import io
import os
import re
import textwrap
from typing import Any

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
# Decorators that make a plotting function draw in a style.
styled = matplotlib.rc_context(_RC)
styled_for_paper = matplotlib.rc_context(_PAPER_RC)

# Options of `Axes.plot`: the look of one method, the same in every plot. The
# last colour replaces the palette's yellow, which is invisible on white.
Look = dict[str, Any]
_LOOKS = tuple(
  matplotlib.cycler(
    color=['#0072B2', '#D55E00', '#009E73', '#CC79A7']
    + ['#E69F00', '#56B4E9', '#000000', '#7A1F5C'],
    linestyle=['-', (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5))]
    + [(0, (3, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (2, 2)), (0, (10, 2, 2, 2))],
    marker=['o', 's', '^', 'D', 'v', 'P', 'X', '*'],
  )
  * matplotlib.cycler(markeredgecolor=['white'], markeredgewidth=[0.6])
)
_TITLES = {
  'eval/global': 'global model on validation clients',
  'eval/own': "clients' own models on test data of their own",
  'eval/personalized': 'validation clients after personalisation',
  'eval/unseen': 'new clients on test data of their own',
  'csb': 'clients against the server',
  'train': 'training clients',
}
_ACRONYMS = ('auc', 'mae', 'mse', 'rmse')
# The methods that most plots compare always look the same.
_FIXED_LOOKS = {'FedAvg': 0, 'FedFish': 1, 'FedSGD': 2}


def series_looks(labels: Sequence[str]) -> dict[str, Look]:
  """Returns a look for each label, distinct for the first eight.

  Args:
    labels: The labels, as the plot shows them. A label that starts with the
      name of FedAvg, FedFish or FedSGD gets that method's usual look; of
      several, the name alone does, or else the first.
  """
  taken = {}
  for label in sorted(labels, key=lambda label: label not in _FIXED_LOOKS):
    index = _FIXED_LOOKS.get(label.split(',')[0].strip())
    if index is not None and index not in taken.values():
      taken[label] = index
  every = range(len(_LOOKS))
  free = [i for i in every if i not in taken.values()] or every
  rest = [label for label in labels if label not in taken]
  taken |= {label: free[i % len(free)] for i, label in enumerate(rest)}
  return {label: dict(_LOOKS[taken[label]]) for label in labels}


def new_figure(width: float, height: float) -> mpl_figure.Figure:
  """Returns an empty figure of a size in inches, with parts kept apart.

  It belongs to no window and no global state of Matplotlib.
  """
  return mpl_figure.Figure(figsize=(width, height), layout='constrained')


def save_figure(
  figure: mpl_figure.Figure, path: str | os.PathLike[str]
) -> None:
  """Writes a figure atomically, in the format of the path's suffix.

  Args:
    figure: The figure.
    path: The path, which ends in .png, .pdf or .svg, in an existing folder.

  Raises:
    errors.InputError: If the file cannot be written.
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
  if len(name) <= _MAX_SLUG:
    return name
  digest = hashlib.sha256(text.encode()).hexdigest()[:8]
  return f'{name[:_MAX_SLUG]}_{digest}'


def metric_title(metric: str) -> str:
  """Returns a column's title on axes, such as 'Accuracy', 'Barrier in MSE'."""
  prefix, _, name = metric.rpartition('/')
  title = name.upper() if name in _ACRONYMS else name.replace('_', ' ')
  if prefix == 'csb':
    title = f'barrier in {title}'
  return title[0].upper() + title[1:]


def describe_metric(metric: str) -> str:
  """Returns 'Accuracy, global model on validation clients', or the column."""
  what = _TITLES.get(metric.rpartition('/')[0])
  return f'{metric_title(metric)}, {what}' if what else metric


def format_value(value: float) -> str:
  """Returns a number for plots, with three digits after the point."""
  plain = value == 0 or 0.01 <= abs(value) < 1000
  return f'{value:.3f}' if plain else f'{value:.3g}'


def wrap_text(text: str, width: float, size: float = 10) -> str:
  """Breaks a text into lines.

  Args:
    text: The text.
    width: The largest width of a line, in inches.
    size: The size of the letters, in points.
  """
  # On average, bold letters of DejaVu Sans have a width of 0.65 of their size.
  columns = max(12, int(width * 72 / (0.65 * size)))
  return '\n'.join(textwrap.wrap(text, columns, break_long_words=False))
