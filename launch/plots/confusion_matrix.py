# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The confusion matrix: classes by predicted classes."""

from collections.abc import Mapping
import itertools

from fedfish_tff.evaluation import metric_names
from launch.plots import heat_map
from launch.plots import panels
from launch.plots import style
from launch.results import frames as frames_lib
from launch.results import run_notes

from matplotlib import figure as mpl_figure
import numpy as np

_CELL_INCHES = 0.85
_SMALL_CELL_INCHES = 0.3
# With more classes, cells have no room for numbers.
_MOST_WRITTEN = 10
_PREFIX = 'test/global/'


def read_confusion(
  scores: Mapping[str, float],
) -> tuple[np.ndarray, list[str]] | None:
  """Returns the confusion matrix in scores, and the names of its classes.

  Args:
    scores: The values by name, including counts of test clients,
      `test/global/confusion_<class>_as_<predicted class>`.

  Returns:
    The counts, classes by predicted classes, and the names; None if counts are
    missing or not finite.
  """
  counts = {
    pair: value
    for name, value in scores.items()
    if name.startswith(_PREFIX)
    and (pair := metric_names.confused_classes(name))
  }
  names = list(dict.fromkeys(one for one, _ in counts))
  pairs = itertools.product(names, repeat=2)
  table = np.array([counts.get(pair, np.nan) for pair in pairs], float)
  if not names or not np.isfinite(table).all():
    return None
  return table.reshape(len(names), len(names)), names


@style.styled
def draw(frames: frames_lib.Frames, _: str) -> dict[str, mpl_figure.Figure]:
  """Draws the confusion matrix of a finished run that has counted it.

  Cells are classes by predicted classes, coloured by the share of the class.
  """
  found = read_confusion(frames.runs.iloc[0])
  if found is None:
    return {}
  counts, class_names = found
  shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
  written = len(counts) <= _MOST_WRITTEN
  cell = _CELL_INCHES if written else _SMALL_CELL_INCHES
  side = max(cell * len(counts), 2.4)
  size = min(side + 2.2, 10), min(side + 1.3, 9)
  figure, (axis,) = panels.new_grid([class_names], size)
  image = heat_map.draw_table(axis, shares, aspect='equal')
  labels = [name.replace('_', ' ') for name in class_names]
  for dimension in (axis.xaxis, axis.yaxis):
    heat_map.name_ticks(dimension, labels)
  panels.set_labels(axis, 'Predicted class', 'Class')
  if written:
    texts = [
      f'{100 * s:.1f} %\n{c:,.0f}' for s, c in zip(shares.flat, counts.flat)
    ]
    heat_map.write_cells(image, np.reshape(texts, counts.shape))
  label = "Share of the class's examples"
  panels.draw_colorbar(image, axis, label, percent=True)
  title = 'Classes of the test data and what they are taken for'
  panels.set_figure_title(figure, run_notes.name_task(title, frames.runs))
  return {'confusion_matrix': figure}
