# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The heat map that plots share: a table as colours, names and numbers."""

from collections.abc import Sequence
from typing import Any

from launch import plain_text
from launch.plots import panels
from launch.plots import style

from matplotlib import axes as mpl_axes
from matplotlib import axis as mpl_axis
from matplotlib import colors as mpl_colors
from matplotlib import image as mpl_image
import numpy as np

# The colours of shares, from white for 0 to almost black for 1, also in grey.
SHARES = mpl_colors.LinearSegmentedColormap.from_list(
  'share', ['#ffffff', '#56B4E9', '#0072B2', '#001f33']
)
# The renderer would mix more columns than a figure has room for.
MOST_COLUMNS = 400


def draw_table(
  axis: mpl_axes.Axes, table: np.ndarray, **options: Any
) -> mpl_image.AxesImage:
  """Draws a table of shares, first row at the top and unknown cells grey.

  Args:
    axis: The axis, otherwise empty.
    table: The shares from 0 to 1, NaN for unknown, `[num_rows, num_columns]`.
    **options: The options of `Axes.imshow` that replace those for shares.
  """
  shares = {} if 'norm' in options else {'vmin': 0, 'vmax': 1}
  image = axis.imshow(
    np.ma.masked_invalid(table),
    **{'cmap': SHARES, 'aspect': 'auto', 'interpolation': 'nearest'}
    | shares
    | options,
  )
  axis.set_facecolor(style.GRID)
  axis.grid(False)
  axis.tick_params(length=0)
  return image


def write_cells(
  image: mpl_image.AxesImage, texts: np.ndarray, size: float = 9
) -> None:
  """Writes a text, legible on its colour, into each cell with a value."""
  table = image.get_array()
  for (row, column), text in np.ndenumerate(texts):
    if table[row, column] is not np.ma.masked:
      red, green, blue, _ = image.to_rgba(table[row, column])
      is_light = 0.3 * red + 0.59 * green + 0.11 * blue > 0.5
      image.axes.text(
        column,
        row,
        text,
        ha='center',
        va='center',
        fontsize=size,
        color=style.INK if is_light else 'white',
      )


def name_ticks(
  dimension: mpl_axis.Axis,
  names: Sequence[str],
  *,
  step: int = 1,
  most_letters: int = 34,
) -> None:
  """Names rows or columns.

  Args:
    dimension: The x or the y axis.
    names: A name for each row or column.
    step: The number of rows or columns per name; the first of them is named.
    most_letters: The length above which names lose their middle, or their start
      if several would become equal.
  """
  names = [plain_text.line(name) for name in names]
  shown = [shorten(name, most_letters) for name in names[::step]]
  if len(set(shown)) < len(set(names[::step])):
    # The names differ in their middle.
    shown = [
      name if len(name) <= most_letters else f'…{name[1 - most_letters :]}'
      for name in names[::step]
    ]
  dimension.set_ticks(np.arange(0, len(names), step), shown)
  dimension.set_tick_params(labelsize=9 if len(names) <= 25 else 7)
  inches = 0.1 * len(shown) * max(map(len, shown))
  room = 0.75 * panels.cell_width(dimension.axes)
  if dimension.axis_name == 'x' and inches > room:
    dimension.set_tick_params(labelrotation=90)


def shorten(name: str, most_letters: int = 34) -> str:
  """Removes the middle of a long name, since ends distinguish tensors."""
  name = plain_text.line(name)
  half = most_letters // 2
  short = len(name) <= most_letters
  return name if short else f'{name[: half - 1]}…{name[-half:]}'
