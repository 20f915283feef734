# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Plots of a single run: tensors sent, matched units and confused classes."""

from collections.abc import Mapping
from collections.abc import Sequence
import itertools
import re

from fedfish_tff.evaluation import metric_names
from launch.plots import heat_map
from launch.plots import panels
from launch.plots import style
from launch.results import frames as frames_lib
from launch.results import run_notes

from matplotlib import axes as mpl_axes
from matplotlib import figure as mpl_figure
from matplotlib import patches
from matplotlib import ticker
import numpy as np

# Up to this number each tensor is named; beyond it, only groups are.
_MOST_NAMES = 45
_ROW_INCHES = 0.19
# The prefix of columns with the share of each tensor that was sent.
_SENT = 'aggregator/sent/'
# The height of a line of small letters.
_NAME_INCHES = 0.135
_UNITS = re.compile(r'fed_ma/(.+)/units')
_LABELS = ('matched: of several clients', 'new: of one client')
_CELL_INCHES = 0.85
_SMALL_CELL_INCHES = 0.3
# With more classes, cells have no room for numbers.
_MOST_WRITTEN = 10
_TEST = 'test/global/'


@style.styled
def draw_exchanged_tensors(
  frames: frames_lib.Frames, _: str
) -> dict[str, mpl_figure.Figure]:
  """Draws the tensors sent in each round, if the run's clients choose them.

  Rows are tensors, with the model's first at the top; columns are rounds. Many
  tensors are named by the parts of the model that contain them, as finely as
  there is room for names. Of more than 400 rounds, neighbours are averaged.
  """
  columns = [name for name in frames.rounds if name.startswith(_SENT)]
  shares = frames.rounds[columns]
  # Nothing was sent for the initial model.
  shares = shares[np.isfinite(shares).any(axis=1)]
  if shares.empty:
    return {}
  rounds = shares.index.get_level_values('round')
  names = [name.removeprefix(_SENT) for name in columns]
  step = -(-len(rounds) // heat_map.MOST_COLUMNS)
  table = np.ma.masked_invalid(shares.to_numpy().T)
  table = np.ma.stack(
    [table[:, i : i + step].mean(axis=1) for i in range(0, len(rounds), step)],
    axis=1,
  )
  height = float(np.clip(_ROW_INCHES * len(names), 1.9, 8.6))
  figure, (axis,) = panels.new_grid([names], (7, height + 1.2))
  last = rounds[::step][-1] + step - 0.5
  image = heat_map.draw_table(
    axis, table, extent=(rounds[0] - 0.5, last, len(names) - 0.5, -0.5)
  )
  if max(table.shape) <= _MOST_NAMES:
    grid = {'color': 'white', 'linewidth': 1}
    axis.hlines(np.arange(1, len(names)) - 0.5, *axis.get_xlim(), **grid)
    axis.vlines(rounds[1:] - 0.5, *axis.get_ylim(), **grid)
  if len(names) <= _MOST_NAMES:
    heat_map.name_ticks(axis.yaxis, names)
  else:
    _name_parts(axis, names, _NAME_INCHES / height * len(names))
  axis.xaxis.set_major_locator(
    ticker.MaxNLocator(nbins=10, steps=[1, 2, 5, 10], integer=True)
  )
  axis.set_xlabel('Round')
  what = 'Share of its weights that clients sent'
  panels.draw_colorbar(image, axis, what, percent=True, aspect=10 * height)
  title = run_notes.name_task('What clients have sent', frames.runs)
  panels.set_figure_title(figure, title)
  return {'exchanged_tensors': figure}


def _name_parts(axis: mpl_axes.Axes, names: Sequence[str], room: float) -> None:
  """Names the parts of the model, each with at least `room` rows."""
  ticks, labels, start = [], [], 0
  for prefix, size in _divide(names, 1, room):
    middle = start + (size - 1) / 2
    # Parts that cannot be divided differently may still be too small.
    if not ticks or middle - ticks[-1] >= room:
      ticks.append(middle)
      labels.append(heat_map.shorten(prefix))
    start += size
    if start < len(names):
      axis.axhline(start - 0.5, color=style.INK, linewidth=0.8)
  axis.set_yticks(ticks, labels)
  axis.tick_params(axis='y', labelsize=8)
  axis.set_ylabel(f'{len(names)} tensors, by the part that they are in')


def _divide(
  names: Sequence[str], depth: int, room: float
) -> list[tuple[str, int]]:
  """Returns neighbours with a common prefix, as (prefix, number).

  Args:
    names: The names of tensors, with parts divided by slashes.
    depth: The number of parts of the first prefixes.
    room: The least number of tensors in a divided part.
  """
  divided = []
  for prefix, group in itertools.groupby(
    names, key=lambda name: '/'.join(name.split('/')[:depth])
  ):
    members = list(group)
    parts = [(prefix, len(members))]
    if any(name.count('/') >= depth for name in members):
      finer = _divide(members, depth + 1, room)
      if all(size >= room for _, size in finer):
        parts = finer
    divided += parts
  return divided


@style.styled
def draw_matched_units(
  frames: frames_lib.Frames, _: str
) -> dict[str, mpl_figure.Figure]:
  """Draws the server's units of a FedMA run by round, a panel per layer."""
  layers = [m[1] for name in frames.rounds if (m := _UNITS.fullmatch(name))]
  if not layers:
    return {}
  colors = [look['color'] for look in style.series_looks(_LABELS).values()]
  figure, axes = panels.new_grid(layers, (4, 2.6))
  for axis, layer in zip(axes, layers):
    units = frames.column(f'fed_ma/{layer}/units').droplevel(0)
    alone = frames.column(f'fed_ma/{layer}/of_one_client').droplevel(0)
    rounds = units.index
    axis.bar(rounds, units - alone, color=colors[0])
    axis.bar(rounds, alone, bottom=units - alone, color=colors[1])
    axis.grid(False, axis='x')
    axis.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
    title = layer.replace('_', ' ').capitalize()
    panels.set_labels(axis, 'Round', "The server's units", title)
  panels.draw_legend(
    figure,
    [patches.Patch(color=c, label=label) for c, label in zip(colors, _LABELS)],
  )
  title = run_notes.name_task('Units that clients share', frames.runs)
  panels.set_figure_title(figure, title)
  return {'matched_units': figure}


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
    if name.startswith(_TEST) and (pair := metric_names.confused_classes(name))
  }
  names = list(dict.fromkeys(one for one, _ in counts))
  pairs = itertools.product(names, repeat=2)
  table = np.array([counts.get(pair, np.nan) for pair in pairs], float)
  if not names or not np.isfinite(table).all():
    return None
  return table.reshape(len(names), len(names)), names


@style.styled
def draw_confusion_matrix(
  frames: frames_lib.Frames, _: str
) -> dict[str, mpl_figure.Figure]:
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
