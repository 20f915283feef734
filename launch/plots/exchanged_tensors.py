# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A heat map of the tensors of a model that clients have sent, by round."""

from collections.abc import Sequence
import itertools

from launch.plots import heat_map
from launch.plots import panels
from launch.plots import style
from launch.results import frames as frames_lib
from launch.results import run_notes

from matplotlib import axes as mpl_axes
from matplotlib import figure as mpl_figure
from matplotlib import ticker
import numpy as np

# Up to this number each tensor is named; beyond it, only groups are.
_MOST_NAMES = 45
_ROW_INCHES = 0.19
# The prefix of columns with the share of each tensor that was sent.
_SENT = 'aggregator/sent/'
# The height of a line of small letters.
_NAME_INCHES = 0.135


@style.styled
def draw(frames: frames_lib.Frames, _: str) -> dict[str, mpl_figure.Figure]:
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
  what = 'Share of the clients that sent it'
  exchange = frames.runs['config'].iloc[0].get('exchange') or {}
  if exchange.get('selection') == 'coordinates':
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
