# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What fine-tuning does to each held-out client's score."""

from collections.abc import Mapping

from launch.plots import style

from matplotlib import axes as mpl_axes
from matplotlib import figure as mpl_figure
from matplotlib import ticker
import numpy as np

_COLUMNS = 3
_PANEL_WIDTH = 3.3  # Inches.


@style.styled
def plot_before_after(
  scores: Mapping[str, tuple[np.ndarray, np.ndarray]],
  *,
  metric: str = 'accuracy',
  higher_is_better: bool = True,
  title: str = 'Personalisation of held-out clients',
) -> mpl_figure.Figure:
  """Plots each client's score after fine-tuning against the one before.

  Args:
    scores: For each method the scores of its clients before and after, both
      `[num_clients]`, on examples that fine-tuning has not seen.
    metric: The metric's name.
    higher_is_better: Whether clients above the line x = y gain or lose.
    title: The title.

  Returns:
    The figure, one panel a method, all on the same axes.
  """
  figure, axes = _panels(len(scores), 4)
  styles = style.series_styles(list(scores))
  every = [values for pair in scores.values() for values in pair]
  name = style.metric_title(metric)
  for axis, (label, (before, after)) in zip(axes, scores.items()):
    look = styles[label]
    limits = style.share_limits(axis, every)
    style.draw_diagonal(axis, limits)
    axis.scatter(
      before,
      after,
      marker=look.marker,
      s=26,
      color=look.color,
      alpha=0.65,
      edgecolors='white',
      linewidths=0.5,
      zorder=3,
    )
    if len(before):
      _mark_mean(axis, before.mean(), after.mean())
    change = after - before
    gains = change > 0 if higher_is_better else change < 0
    losses = change < 0 if higher_is_better else change > 0
    axis.set_title(style.wrap_text(label, _PANEL_WIDTH - 0.9, 11))
    summary = f'{gains.sum()} gain, {losses.sum()} lose'
    if len(before):
      summary += (
        f'; mean {style.format_value(before.mean())} to '
        f'{style.format_value(after.mean())}'
      )
    style.write_subtitle(axis, summary)
    axis.set_xlabel(f'{name} before')
  for axis in axes[::_COLUMNS]:
    axis.set_ylabel(f'{name} after fine-tuning')
  style.set_figure_title(figure, title)
  return figure


@style.styled
def plot_few_shot(
  scores: Mapping[str, Mapping[float, np.ndarray]],
  *,
  metric: str = 'accuracy',
  title: str = 'Few-shot personalisation of held-out clients',
) -> mpl_figure.Figure:
  """Plots scores against the share of a client's data that is fine-tuned on.

  Args:
    scores: For each method and each share (0, 0.25, 0.5) the clients' scores
      `[num_clients]`, always on the same unseen half.
    metric: The metric's name.
    title: The title.

  Returns:
    The figure: a thin line a client, a thick one for their mean.
  """
  figure, axes = _panels(len(scores), 3.4, sharey=True)
  styles = style.series_styles(list(scores))
  for axis, (label, by_share) in zip(axes, scores.items()):
    look = styles[label]
    shares = sorted(by_share)
    table = np.array([by_share[share] for share in shares])
    axis.plot(shares, table, color=look.color, linewidth=0.6, alpha=0.35)
    means = table.mean(axis=1)
    axis.plot(
      shares,
      means,
      color=look.color,
      linewidth=2.4,
      marker=look.marker,
      markersize=7,
      markeredgecolor='white',
      zorder=4,
    )
    for share, mean in zip(shares, means):
      axis.annotate(
        style.format_value(mean),
        (share, mean),
        xytext=(0, 9),
        textcoords='offset points',
        ha='center',
        fontsize=9,
        fontweight='bold',
        bbox=dict(facecolor='white', alpha=0.75, linewidth=0, pad=1),
        zorder=5,
      )
    axis.set_title(style.wrap_text(label, _PANEL_WIDTH - 0.9, 11))
    axis.set_xlabel("Share of a client's data")
    axis.set_xticks(shares)
    axis.xaxis.set_major_formatter(ticker.PercentFormatter(1.0, decimals=0))
    axis.margins(x=0.12)
  for axis in axes[::_COLUMNS]:
    axis.set_ylabel(f'{style.metric_title(metric)} on the unseen half')
  style.set_figure_title(figure, title)
  return figure


def _panels(
  count: int, height: float, sharey: bool = False
) -> tuple[mpl_figure.Figure, list[mpl_axes.Axes]]:
  """Returns a figure of `count` panels, at most three side by side."""
  columns = min(_COLUMNS, max(1, count))
  rows = -(-count // columns)
  figure = style.new_figure(
    max(4.8, _PANEL_WIDTH * columns), height * rows + 0.3
  )
  figure.get_layout_engine().set(h_pad=0.08)
  grid = figure.subplots(rows, columns, squeeze=False, sharey=sharey)
  panels = list(grid.flat)
  for unused in panels[count:]:
    unused.remove()
  return figure, panels[:count]


def _mark_mean(axis: mpl_axes.Axes, before: float, after: float) -> None:
  axis.scatter(
    [before],
    [after],
    marker='+',
    s=150,
    color=style.INK,
    linewidths=2,
    zorder=5,
  )
