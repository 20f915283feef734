# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""How evenly a model serves the clients, from the worst to the best."""

from collections.abc import Mapping

from fedfish_tff.evaluation import client_statistics
from launch.plots import style

from matplotlib import figure as mpl_figure
from matplotlib import ticker
import numpy as np


@style.styled
def plot_client_spread(
  scores: Mapping[str, np.ndarray],
  *,
  metric: str = 'accuracy',
  higher_is_better: bool = True,
  title: str = 'Held-out clients, from the worst to the best',
) -> mpl_figure.Figure:
  """Plots each method's sorted client scores, and the worst tenth's mean.

  Args:
    scores: For each method the clients' scores, `[num_clients]`.
    metric: The metric's name.
    higher_is_better: Whether the worst clients have low or high scores.
    title: The title.

  Returns:
    The figure.
  """
  figure = style.new_figure(7, 4.2)
  axis = figure.subplots()
  styles = style.series_styles(list(scores))
  axis.axvspan(0, 0.1, color=style.GRID, alpha=0.6, linewidth=0, zorder=0)
  for label, values in scores.items():
    look = styles[label]
    ordered = np.sort(values) if higher_is_better else -np.sort(-values)
    # The k-th of n clients stands for the share from (k - 1) / n to k / n.
    shares = (np.arange(len(ordered)) + 0.5) / max(1, len(ordered))
    worst = client_statistics.worst_tenth(
      values, higher_is_better=higher_is_better
    )
    axis.plot(
      shares,
      ordered,
      color=look.color,
      linestyle=look.linestyle,
      marker=look.marker,
      markevery=max(1, len(ordered) // 12),
      markeredgecolor='white',
      markeredgewidth=0.7,
      label=f'{label}: mean {style.format_value(np.mean(values))}, '
      f'worst tenth {style.format_value(worst)}',
    )
  axis.set_xlim(0, 1)
  axis.xaxis.set_major_formatter(ticker.PercentFormatter(1.0, decimals=0))
  axis.set_xlabel('Share of the clients (shaded: the worst tenth)')
  axis.set_ylabel(f'{style.metric_title(metric)} of the global model')
  axis.set_title(style.wrap_text(title, 6, 11))
  # Lines may run through any corner, so the legend stays out of the axes.
  style.draw_legend_below(figure, axis)
  return figure
