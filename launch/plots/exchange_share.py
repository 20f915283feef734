# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A score against the share of weights that clients send, or its bytes."""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence

from launch.plots import style

from matplotlib import axes as mpl_axes
from matplotlib import figure as mpl_figure
from matplotlib import ticker
import numpy as np

# A line: the scores of its seeds by share.
Line = Mapping[float, Sequence[float]]
# A line of the other figure: (bytes, score) of its seeds by share.
ByteLine = Mapping[float, Sequence[tuple[float, float]]]

_MOST_COLUMNS = 3
# Bytes that differ by more are on a logarithmic axis.
_MOST_LINEAR_RATIO = 50
_PANEL_WIDTH, _PANEL_HEIGHT = 3.0, 2.7  # Inches.
_LEAST_WIDTH = 6.0


@style.styled
def plot_by_share(
  rows: Mapping[str, Mapping[str, Mapping[str, Line]]],
  *,
  metric: str,
  title: str,
  x_label: str = 'Share of the tensors that are sent',
  reference: str = '',
  shaded: bool = True,
) -> mpl_figure.Figure:
  """Plots the mean over seeds against the share.

  Args:
    rows: By the name of a row of panels, the panels; by their titles, lines; by
      their labels, the seeds' scores by share. Scores that are not finite are
      left out. The panels of a single row are broken into several.
    metric: The name of the score, such as `'accuracy'`.
    title: The title of the figure.
    x_label: What is shared.
    reference: The name of the level where everything is sent, which is then
      drawn across the panels whose lines all end in it; empty for none.
    shaded: Whether to shade from the lowest to the highest seed.

  Returns:
    The figure.
  """
  figure, axes = _make_panels(rows)
  labels = _labels(rows)
  styles = style.series_styles(labels)
  for axis, row, panel, lines in axes:
    if reference:
      _draw_reference(axis, lines, reference)
    for label in labels:
      _draw_line(axis, lines.get(label, {}), styles[label], label, shaded)
    _finish_panel(axis, panel)
    axis.set_xlim(0, 1.04)
    axis.xaxis.set_major_locator(ticker.MultipleLocator(0.2))
    axis.xaxis.set_major_formatter(ticker.StrMethodFormatter('{x:g}'))
    axis.set_xlabel(x_label)
    if axis.get_subplotspec().is_first_col():
      axis.set_ylabel(_join(style.metric_title(metric), row))
  _finish_figure(figure, [axis for axis, *_ in axes], title)
  return figure


@style.styled
def plot_by_bytes(
  panels: Mapping[str, Mapping[str, ByteLine]], *, metric: str, title: str
) -> mpl_figure.Figure:
  """Plots the score against what clients have sent, a point for each share.

  Args:
    panels: By their titles, lines; by their labels, the bytes of all clients
      and the score of each seed, by share.
    metric: The name of the score.
    title: The title of the figure.

  Returns:
    The figure.
  """
  figure, axes = _make_panels({'': panels})
  labels = _labels({'': panels})
  styles = style.series_styles(labels)
  counts = [
    number
    for _, _, _, lines in axes
    for line in lines.values()
    for pairs in line.values()
    for number, _ in pairs
    if number > 0
  ]
  largest, smallest = max(counts, default=1.0), min(counts, default=1.0)
  logarithmic = largest > _MOST_LINEAR_RATIO * smallest
  divisor, unit = style.byte_unit(largest)
  for axis, _, panel, lines in axes:
    for label in labels:
      points = []
      for share in sorted(lines.get(label, {})):
        pairs = np.array(lines[label][share], np.float64).reshape(-1, 2)
        pairs = pairs[np.isfinite(pairs).all(axis=1)]
        if len(pairs):
          points.append(pairs)
      if points:
        xs = np.array([pairs[:, 0].mean() for pairs in points]) / divisor
        _draw_means(
          axis, xs, [pairs[:, 1] for pairs in points], styles[label], label
        )
    _finish_panel(axis, panel)
    if logarithmic:
      axis.set_xscale('log')
      axis.xaxis.set_major_formatter(ticker.StrMethodFormatter('{x:g}'))
      axis.xaxis.set_minor_formatter(ticker.NullFormatter())
    else:
      axis.set_xlim(0, largest / divisor * 1.04)
      axis.xaxis.set_major_locator(ticker.MaxNLocator(5))
    axis.set_xlabel(f'Sent by all clients ({unit})')
    if axis.get_subplotspec().is_first_col():
      axis.set_ylabel(style.metric_title(metric))
  _finish_figure(figure, [axis for axis, *_ in axes], title)
  return figure


def _make_panels(
  rows: Mapping[str, Mapping[str, Mapping]],
) -> tuple[mpl_figure.Figure, list[tuple[mpl_axes.Axes, str, str, Mapping]]]:
  """Returns a figure and, of each panel, its axis, row, title and lines."""
  columns = max(len(panels) for panels in rows.values())
  if len(rows) == 1:
    columns = min(columns, _MOST_COLUMNS)
  num_rows = sum(-(-len(panels) // columns) for panels in rows.values())
  figure = style.new_figure(
    max(_LEAST_WIDTH, _PANEL_WIDTH * columns + 0.6),
    _PANEL_HEIGHT * num_rows + 0.6,
  )
  grid = figure.subplots(num_rows, columns, squeeze=False, sharey=True)
  panels, first = [], 0
  for row, lines_by_panel in rows.items():
    for position, (panel, lines) in enumerate(lines_by_panel.items()):
      axis = grid[first + position // columns, position % columns]
      panels.append((axis, row, panel, lines))
    first += -(-len(lines_by_panel) // columns)
  used = {axis for axis, *_ in panels}
  for axis in grid.flat:
    if axis not in used:
      axis.set_visible(False)
  return figure, panels


def _labels(rows: Mapping[str, Mapping[str, Mapping]]) -> list[str]:
  """Returns the labels of all lines, each once."""
  return list(
    dict.fromkeys(
      label
      for panels in rows.values()
      for lines in panels.values()
      for label in lines
    )
  )


def _finite(values: Iterable[float]) -> np.ndarray:
  array = np.array(list(values), np.float64)
  return array[np.isfinite(array)]


def _draw_line(
  axis: mpl_axes.Axes,
  line: Line,
  look: style.SeriesStyle,
  label: str,
  shaded: bool,
) -> None:
  scores = {share: _finite(line[share]) for share in sorted(line)}
  scores = {share: values for share, values in scores.items() if len(values)}
  if scores:
    _draw_means(axis, list(scores), list(scores.values()), look, label, shaded)


def _draw_means(
  axis: mpl_axes.Axes,
  xs: Sequence[float],
  scores: Sequence[np.ndarray],
  look: style.SeriesStyle,
  label: str,
  shaded: bool = True,
) -> None:
  if shaded and max(map(len, scores)) > 1:
    axis.fill_between(
      xs,
      [values.min() for values in scores],
      [values.max() for values in scores],
      color=look.color,
      alpha=0.14,
      linewidth=0,
    )
  axis.plot(
    xs,
    [values.mean() for values in scores],
    color=look.color,
    linestyle=look.linestyle,
    marker=look.marker,
    markeredgecolor='white',
    markeredgewidth=0.7,
    label=label,
  )


def _draw_reference(
  axis: mpl_axes.Axes, lines: Mapping[str, Line], label: str
) -> None:
  """Draws the level where everything is sent, if lines have one in common."""
  ends = [_finite(line.get(1.0, ())) for line in lines.values() if line]
  if not ends or not len(ends[0]):
    return
  if any(not np.array_equal(end, ends[0]) for end in ends):
    return
  axis.axhline(
    ends[0].mean(),
    color=style.MUTED,
    linestyle=(0, (4, 3)),
    linewidth=1.1,
    zorder=1,
    label=label,
  )


def _finish_panel(axis: mpl_axes.Axes, title: str) -> None:
  axis.set_title(style.wrap_text(title, _PANEL_WIDTH - 0.4, 11))
  axis.tick_params(labelleft=True)


def _finish_figure(
  figure: mpl_figure.Figure, axes: Sequence[mpl_axes.Axes], title: str
) -> None:
  # Any panel may lack a line.
  fullest = max(axes, key=lambda a: len(a.get_legend_handles_labels()[1]))
  style.draw_legend_below(figure, fullest)
  style.set_figure_title(figure, title)


def _join(metric: str, row: str) -> str:
  return f'{metric}, {row}' if row else metric
