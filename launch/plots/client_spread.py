# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""How evenly a model serves the clients, from the worst to the best."""

from fedfish_tff.evaluation import client_statistics
from fedfish_tff.evaluation import metric_names
from launch.plots import panels
from launch.plots import request as request_lib
from launch.plots import style
from launch.results import method_comparison

from matplotlib import ticker
import numpy as np


@style.styled
def draw(request: request_lib.Request) -> request_lib.Figures:
  """Each method's sorted client scores, and the worst tenth's mean.

  Of the clients that launch.evaluate has scored.
  """
  higher_is_better = metric_names.higher_is_better(request.name)
  column = f'global/{request.name}'
  scores = {
    label: [
      value
      for run in runs
      for value in method_comparison.client_values(run, column).values()
      if np.isfinite(value)
    ]
    for label, runs in request.groups.items()
  }
  if not any(scores.values()):
    return {}
  figure, (axis,) = panels.new_grid([column], (7, 4.2))
  looks = style.series_looks(list(scores))
  axis.axvspan(0, 0.1, color=style.GRID, alpha=0.6, linewidth=0, zorder=0)
  for label, values in scores.items():
    if not values:
      continue
    values = np.array(values)
    ordered = np.sort(values) if higher_is_better else -np.sort(-values)
    # The k-th of n clients stands for the share from (k - 1) / n to k / n.
    shares = (np.arange(len(ordered)) + 0.5) / len(ordered)
    worst = client_statistics.worst_tenth(
      values, higher_is_better=higher_is_better
    )
    numbers = map(style.format_value, (np.mean(values), worst))
    label_text = '{}: mean {}, worst tenth {}'.format(label, *numbers)
    panels.draw_line(
      axis, shares, ordered[None], looks[label], label=label_text
    )
  axis.set_xlim(0, 1)
  axis.xaxis.set_major_formatter(ticker.PercentFormatter(1.0, decimals=0))
  panels.set_labels(
    axis,
    'Share of the clients (shaded: the worst tenth)',
    f'{style.metric_title(request.name)} of the global model',
    request.title('Held-out clients, from the worst to the best'),
  )
  panels.draw_legend(figure, axis.get_legend_handles_labels()[0])
  return {request_lib.slug(f'client_spread_{request.name}'): figure}
