# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Held-out clients: how evenly they are served, and what fine-tuning does."""

from collections.abc import Mapping
from collections.abc import Sequence

from fedfish_tff.evaluation import client_statistics
from fedfish_tff.evaluation import metric_names
from launch.plots import panels
from launch.plots import request as request_lib
from launch.plots import style
from launch.results import method_comparison
from launch.results import run_reader

from matplotlib import figure as mpl_figure
from matplotlib import ticker
import numpy as np

_PANEL_WIDTH = 3.3  # Inches.


def draw_personalization(request: request_lib.Request) -> request_lib.Figures:
  """What fine-tuning does to the clients that launch.evaluate has scored."""
  tables = {
    label: table
    for label, runs in request.groups.items()
    if (table := _read_scores(runs, request.name)).size
  }
  if not tables:
    return {}
  name = request.name
  return {
    request_lib.slug(f'personalization_{name}'): _plot_before_after(
      request, tables
    ),
    request_lib.slug(f'few_shot_{name}'): _plot_few_shot(request, tables),
  }


def _read_scores(runs: Sequence[run_reader.Run], name: str) -> np.ndarray:
  """Returns finite scores [shares, clients] of the clients with all of them.

  They are always on the half of a client's data that fine-tuning has not seen.
  """
  columns = [
    f'{column}/{name}' for column in run_reader.FEW_SHOT_COLUMNS.values()
  ]
  rows = [
    [client.get(column, np.nan) for column in columns]
    for run in runs
    for client in (run.clients or {}).values()
  ]
  table = np.array(rows, np.float64).reshape(-1, len(columns)).T
  return table[:, np.isfinite(table).all(axis=0)]


@style.styled
def _plot_before_after(
  request: request_lib.Request, tables: Mapping[str, np.ndarray]
) -> mpl_figure.Figure:
  """Plots a point a client, one panel a method, all on the same axes."""
  figure, axes = panels.new_grid(list(tables), (_PANEL_WIDTH, 4.1))
  looks = style.series_looks(list(tables))
  higher_is_better = metric_names.higher_is_better(request.name)
  name = style.metric_title(request.name)
  for axis, (label, table) in zip(axes, tables.items()):
    before, after = table[0], table[-1]
    look = looks[label]
    panels.compare_axes(axis, [t[[0, -1]] for t in tables.values()])
    axis.scatter(
      before,
      after,
      marker=look['marker'],
      s=26,
      color=look['color'],
      alpha=0.65,
      edgecolors='white',
      linewidths=0.5,
      zorder=3,
    )
    change = after - before if higher_is_better else before - after
    summary = f'{(change > 0).sum()} gain, {(change < 0).sum()} lose'
    means = before.mean(), after.mean()
    axis.plot(*means, '+', color=style.INK, ms=12, mew=2, zorder=5)
    summary += '; mean {} to {}'.format(*map(style.format_value, means))
    panels.set_labels(
      axis, f'{name} before', f'{name} after fine-tuning', label, summary
    )
  panels.set_figure_title(
    figure, request.title('Personalisation of held-out clients')
  )
  return figure


@style.styled
def _plot_few_shot(
  request: request_lib.Request, tables: Mapping[str, np.ndarray]
) -> mpl_figure.Figure:
  """Plots a thin line a client by share, a thick one for their mean."""
  figure, axes = panels.new_grid(list(tables), (_PANEL_WIDTH, 3.5), sharey=True)
  looks = style.series_looks(list(tables))
  shares = list(run_reader.FEW_SHOT_COLUMNS)
  for axis, (label, table) in zip(axes, tables.items()):
    color = looks[label]['color']
    axis.plot(shares, table, color=color, linewidth=0.6, alpha=0.35)
    look = looks[label] | {'linestyle': '-', 'linewidth': 2.4, 'markersize': 7}
    axis.plot(shares, table.mean(axis=1), zorder=4, **look)
    for share, mean in zip(shares, table.mean(axis=1)):
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
    axis.set_xticks(shares)
    axis.xaxis.set_major_formatter(ticker.PercentFormatter(1.0, decimals=0))
    axis.margins(x=0.12)
    y_label = f'{style.metric_title(request.name)} on the unseen half'
    panels.set_labels(axis, "Share of a client's data", y_label, label)
  panels.set_figure_title(
    figure, request.title('Few-shot personalisation of held-out clients')
  )
  return figure


@style.styled
def draw_spread(request: request_lib.Request) -> request_lib.Figures:
  """Each method's sorted client scores, and the worst tenth's mean.

  Of the clients that launch.evaluate has scored.
  """
  higher_is_better = metric_names.higher_is_better(request.name)
  column = f'global/{request.name}'
  scores = {}
  for label, runs in request.groups.items():
    found = [method_comparison.client_values(run, column) for run in runs]
    values = np.array([value for of in found for value in of.values()])
    if len(values := values[np.isfinite(values)]):
      scores[label] = values
  if not scores:
    return {}
  figure, (axis,) = panels.new_grid([column], (7, 4.2))
  axis.axvspan(0, 0.1, color=style.GRID, alpha=0.6, linewidth=0, zorder=0)
  lines = {}
  for label, values in scores.items():
    # The k-th of n clients stands for the share from (k - 1) / n to k / n.
    shares = (np.arange(len(values)) + 0.5) / len(values)
    ordered = np.sort(values) if higher_is_better else -np.sort(-values)
    lines[label] = shares, ordered[None]
  panels.draw_lines(axis, lines, style.series_looks(list(scores)))
  entries = axis.get_legend_handles_labels()[0]
  for entry, (label, values) in zip(entries, scores.items()):
    worst = client_statistics.worst_tenth(
      values, higher_is_better=higher_is_better
    )
    mean, worst = map(style.format_value, (values.mean(), worst))
    entry.set_label(f'{label}: mean {mean}, worst tenth {worst}')
  axis.set_xlim(0, 1)
  axis.xaxis.set_major_formatter(ticker.PercentFormatter(1.0, decimals=0))
  panels.set_labels(
    axis,
    'Share of the clients (shaded: the worst tenth)',
    f'{style.metric_title(request.name)} of the global model',
    request.title('Held-out clients, from the worst to the best'),
  )
  panels.draw_legend(figure, entries)
  return {request_lib.slug(f'client_spread_{request.name}'): figure}
