# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A metric against rounds, local steps or bytes, one line a method."""

from collections.abc import Mapping
from collections.abc import Sequence

from launch.plots import style
from launch.results import run_reader

from matplotlib import axes as mpl_axes
from matplotlib import figure as mpl_figure
from matplotlib import ticker
import numpy as np

_WIDTH = 7  # Inches.
# For each kind of x axis: the column of metrics.csv and the axis' label.
X_AXES = {
  'round': ('round', 'Round'),
  'local_steps': (
    'compute/local_steps_total',
    'Local gradient steps of all clients, cumulative',
  ),
  'bytes': (
    'communication/wire_bytes_total',
    'Communication of all clients, cumulative',
  ),
  'payload_bytes': (
    'communication/payload_bytes_total',
    'Chosen weights that all clients have sent, cumulative',
  ),
}
BYTES_AXES = ('bytes', 'payload_bytes')
# Bytes of methods that differ by more are on a logarithmic axis.
_MAX_LINEAR_RATIO = 50
# Labels beside lines take their room from the lines.
_MAX_DIRECT_LABELS = 5
_MAX_DIRECT_LETTERS = 20


@style.styled
def plot_curves(
  groups: Mapping[str, Sequence[run_reader.Run]],
  metric: str,
  *,
  x: str = 'round',
  title: str = '',
  show_seeds: bool = False,
) -> mpl_figure.Figure:
  """Plots a metric, each method's mean over seeds with their range.

  Args:
    groups: Runs by label, as `run_reader.group_runs` returns them. A run
      without the metric is left out.
    metric: A column of metrics.csv, for example `'eval/global/accuracy'`.
    x: `'round'`, `'local_steps'` (the fixed-compute view), `'bytes'` or, of
      runs whose clients send a part of their weights, `'payload_bytes'`.
    title: The title; the metric's name where empty.
    show_seeds: Whether to draw each seed's line in place of the range.

  Returns:
    The figure.
  """
  column, x_label = X_AXES[x]
  figure = style.new_figure(_WIDTH, 4.2)
  axis = figure.subplots()
  styles = style.series_styles(list(groups))
  lines = {}
  for label, runs in groups.items():
    series = [run.series(column, metric) for run in runs]
    series = [s for s in series if len(s[0])]
    if series:
      lines[label] = pool_seeds(series)
  divisor = 1.0
  ends = [xs.max() for xs, _ in lines.values() if xs.max() > 0]
  if x in BYTES_AXES and ends:
    divisor, unit = style.byte_unit(max(ends))
    x_label = f'{x_label} ({unit})'
    if max(ends) > _MAX_LINEAR_RATIO * min(ends):
      # The cheap ones would be a single line at the left. Nothing sent has no
      # place on the axis.
      axis.set_xscale('log')
      lines = {
        label: (xs[xs > 0], ys[:, xs > 0]) for label, (xs, ys) in lines.items()
      }
  for label, (xs, ys) in lines.items():
    _draw_line(axis, label, styles[label], xs / divisor, ys, show_seeds)
  axis.set_xlabel(x_label)
  axis.set_ylabel(style.metric_title(metric))
  axis.set_title(style.wrap_text(title or metric, _WIDTH - 1, 11))
  axis.margins(x=0.02)
  if axis.get_xscale() == 'log':
    axis.xaxis.set_major_formatter(ticker.StrMethodFormatter('{x:g}'))
  else:
    axis.xaxis.set_major_locator(
      ticker.MaxNLocator(
        nbins=8, steps=[1, 2, 2.5, 5, 10], integer=x not in BYTES_AXES
      )
    )
  if x == 'local_steps':
    axis.xaxis.set_major_formatter(ticker.StrMethodFormatter('{x:,.0f}'))
  _label_lines(axis, lines, styles, divisor)
  num_seeds = max((ys.shape[0] for _, ys in lines.values()), default=1)
  if num_seeds > 1:
    spread = (
      'thin lines: each seed' if show_seeds else 'band: lowest to highest'
    )
    style.write_subtitle(axis, f'Mean of {num_seeds} seeds; {spread}')
  return figure


def pool_seeds(
  series: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray]:
  """Returns x, the mean over seeds, and y [seeds, rounds] at common rounds."""
  rounds = series[0][0]
  for other, _, _ in series[1:]:
    rounds = np.intersect1d(rounds, other)
  kept = [np.isin(r, rounds) for r, _, _ in series]
  # Seeds draw different clients, so a round has not the same steps in each.
  xs = np.mean([x[k] for (_, x, _), k in zip(series, kept)], axis=0)
  return xs, np.array([y[k] for (_, _, y), k in zip(series, kept)])


def _draw_line(
  axis: mpl_axes.Axes,
  label: str,
  look: style.SeriesStyle,
  xs: np.ndarray,
  ys: np.ndarray,
  show_seeds: bool,
) -> None:
  if show_seeds:
    for seed_values in ys:
      axis.plot(xs, seed_values, color=look.color, linewidth=0.7, alpha=0.5)
  else:
    style.shade_range(axis, xs, ys, look.color, alpha=0.14)
  axis.plot(
    xs,
    ys.mean(axis=0),
    color=look.color,
    linestyle=look.linestyle,
    marker=look.marker,
    # About eight markers a line, the last one at its end.
    markevery=np.unique(np.linspace(0, len(xs) - 1, 9).round().astype(int))
    if len(xs)
    else None,
    markeredgecolor='white',
    markeredgewidth=0.7,
    label=label,
  )


def _label_lines(
  axis: mpl_axes.Axes,
  lines: Mapping[str, tuple[np.ndarray, np.ndarray]],
  styles: Mapping[str, style.SeriesStyle],
  divisor: float,
) -> None:
  """Labels lines at their ends, or in a legend where they would collide."""
  ends = {
    label: (xs[-1] / divisor, ys[:, -1].mean(), styles[label].color)
    for label, (xs, ys) in lines.items()
    if len(xs)
  }
  if not ends:
    return
  last = [end[0] for end in ends.values()]
  low, high = axis.get_xlim()
  same_end = max(last) - min(last) <= 0.02 * (high - low)
  short = max(map(len, ends)) <= _MAX_DIRECT_LETTERS
  if same_end and short and len(ends) <= _MAX_DIRECT_LABELS:
    style.label_line_ends(axis, ends)
  else:
    style.draw_legend_below(axis.get_figure(), axis)
