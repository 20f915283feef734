# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which classes are taken for which: the confusion matrix."""

from collections.abc import Mapping
from collections.abc import Sequence

from fedfish_tff.evaluation import metric_names
from launch.plots import style

from matplotlib import figure as mpl_figure
from matplotlib import ticker
import numpy as np

# One hue from light to dark: the same order in grey.
_COLORS = 'Blues'
_CELL_INCHES = 0.85
_SMALL_CELL_INCHES = 0.3
# Cells of more classes have no room for numbers.
_MOST_WRITTEN = 10


def read_confusion(
  scores: Mapping[str, float], prefix: str
) -> tuple[np.ndarray, list[str]] | None:
  """Returns a confusion matrix that scores hold, and the names of its classes.

  Args:
    scores: Values by name, among them
      `<prefix>confusion_<class>_as_<predicted class>`, counts.
    prefix: For example `'global/'`.

  Returns:
    Counts, classes by predicted classes, and the names; None if there are none
    or some are missing or not finite.
  """
  counts = {
    pair: value
    for name, value in scores.items()
    if name.startswith(prefix)
    and (pair := metric_names.confused_classes(name.removeprefix(prefix)))
  }
  names = list(dict.fromkeys(one for one, _ in counts))
  table = np.array(
    [[counts.get((one, other), np.nan) for other in names] for one in names]
  )
  if not names or not np.isfinite(table).all():
    return None
  return table, names


@style.styled
def plot_confusion_matrix(
  counts: np.ndarray,
  class_names: Sequence[str],
  *,
  title: str = 'Classes and what they are taken for',
) -> mpl_figure.Figure:
  """Plots classes by predicted classes, coloured by the share of the class.

  Args:
    counts: How many examples of a class (row) are taken for one (column),
      `[num_classes, num_classes]`.
    class_names: The classes' names.
    title: The title.

  Returns:
    The figure.
  """
  counts = np.asarray(counts, np.float64)
  size = len(counts)
  totals = counts.sum(axis=1, keepdims=True)
  shares = np.divide(
    counts, totals, out=np.zeros_like(counts), where=totals > 0
  )
  written = size <= _MOST_WRITTEN
  cell = _CELL_INCHES if written else _SMALL_CELL_INCHES
  side = max(cell * size, 2.4)
  figure = style.new_figure(min(side + 2.2, 10), min(side + 1.3, 9))
  axis = figure.subplots()
  image = axis.imshow(shares, cmap=_COLORS, vmin=0, vmax=1)
  axis.grid(False)
  axis.tick_params(length=0)
  labels = [name.replace('_', ' ') for name in class_names]
  long = max(map(len, labels)) > 10 or not written
  axis.set_xticks(range(size), labels, rotation=90 if long else 0)
  axis.set_yticks(range(size), labels)
  axis.set_xlabel('Predicted class')
  axis.set_ylabel('Class')
  if written:
    for (row, column), share in np.ndenumerate(shares):
      axis.text(
        column,
        row,
        f'{100 * share:.1f} %\n{counts[row, column]:,.0f}',
        ha='center',
        va='center',
        fontsize=9,
        color='white' if share > 0.5 else style.INK,
      )
  bar = figure.colorbar(image, ax=axis, pad=0.02, aspect=24)
  bar.ax.yaxis.set_major_formatter(ticker.PercentFormatter(1, decimals=0))
  bar.set_label("Share of the class's examples", fontsize=9)
  bar.outline.set_edgecolor(style.MUTED)
  style.set_figure_title(figure, title)
  return figure
