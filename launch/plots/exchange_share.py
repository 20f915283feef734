# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A score against the share of weights that clients send, or its bytes."""

from collections.abc import Mapping
from collections.abc import Sequence
import itertools
import math

from launch.plots import curves
from launch.plots import panels
from launch.plots import style

from matplotlib import figure as mpl_figure
import numpy as np

# Of a line, by share, the scores of its seeds, or (bytes, score) of each.
Line = Mapping[float, Sequence[float | tuple[float, float]]]

_MOST_COLUMNS = 3


@style.styled
def plot_scores(
  rows: Mapping[str, Mapping[str, Mapping[str, Line]]],
  *,
  metric: str,
  title: str,
  note: str = '',
  x_label: str,
  in_bytes: bool = False,
  reference: str = '',
  shaded: bool = True,
) -> mpl_figure.Figure:
  """Plots the mean over seeds against the share, or what clients have sent.

  Args:
    rows: By the name of a row of panels, the panels; by their titles, lines, by
      their labels. Scores that are not finite are left out. The panels of a
      single row are broken into several.
    metric: The name of the score, such as `'accuracy'`.
    title: The title of the figure.
    note: What to know of the runs.
    x_label: What is sent.
    in_bytes: Whether lines have bytes to be drawn against.
    reference: The name of the level where everything is sent, which is then
      drawn across the panels whose lines all end in it; empty for none.
    shaded: Whether to shade from the lowest to the highest seed.
  """
  most = max(len(of_row) for of_row in rows.values())
  columns = most if len(rows) > 1 else min(_MOST_COLUMNS, most)
  cells = []
  for row, of_row in rows.items():
    cells += [(row, *panel) for panel in of_row.items()]
    cells += [None] * (-len(cells) % columns)
  figure, axes = panels.new_grid(
    cells, (3.3, 2.9), columns=columns, sharey=True
  )
  labels = [
    label for of in rows.values() for lines in of.values() for label in lines
  ]
  looks = style.series_looks(list(dict.fromkeys(labels)))
  points = [
    {
      label: of
      for label, line in lines.items()
      if len((of := _read_points(line))[0])
    }
    for _, _, lines in filter(None, cells)
  ]
  xs = [x for of in points for xs, _ in of.values() for x in xs if x > 0]
  logarithmic = in_bytes and max(xs, default=0) > curves.BYTES_RATIO * min(
    xs, default=0
  )
  entries = {}
  for axis, of_panel, (row, panel, _) in zip(axes, points, filter(None, cells)):
    ends = [ys[:, xs == 1].compressed() for xs, ys in of_panel.values()]
    if reference and ends and len(ends[0]):
      if all(np.array_equal(end, ends[0]) for end in ends):
        look = {'color': style.MUTED, 'linestyle': (0, (4, 3))}
        axis.axhline(ends[0].mean(), label=reference, linewidth=1.1, **look)
    panels.draw_lines(
      axis,
      of_panel,
      looks,
      unit='B' if in_bytes else None,
      log_ratio=0 if logarithmic else math.inf,
      spread='band' if shaded else '',
    )
    if not logarithmic:
      axis.set_xlim(left=0)
    axis.tick_params(labelleft=True)
    y_label = style.metric_title(metric) + (row and f', {row}')
    panels.set_labels(axis, x_label, y_label, panel)
    handles = axis.get_legend_handles_labels()[0]
    entries |= {handle.get_label(): handle for handle in handles}
  panels.draw_legend(figure, list(entries.values()), note=note)
  panels.set_figure_title(figure, title)
  return figure


def _read_points(line: Line) -> tuple[np.ndarray, np.ndarray]:
  """Returns x, a mean over seeds, and y `[seeds, points]` where finite."""
  points = []
  for share in sorted(line):
    pairs = np.array(
      [v if isinstance(v, tuple) else (share, v) for v in line[share]],
      np.float64,
    ).reshape(-1, 2)
    pairs = pairs[np.isfinite(pairs).all(axis=1)]
    if len(pairs):
      points.append(pairs)
  xs = np.array([pairs[:, 0].mean() for pairs in points])
  seeds = itertools.zip_longest(*(p[:, 1] for p in points), fillvalue=np.nan)
  return xs, np.ma.masked_invalid(list(seeds))
