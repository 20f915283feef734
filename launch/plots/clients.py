# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Held-out clients: how evenly they are served, and what fine-tuning does."""

from collections.abc import Sequence

from fedfish_tff.evaluation import client_statistics
from fedfish_tff.evaluation import metric_names
from fedfish_tff.evaluation import ranking
from launch.plots import panels
from launch.plots import request as request_lib
from launch.plots import style
from launch.results import method_comparison
from launch.results import run_notes
from launch.results import run_reader

from matplotlib import ticker
import numpy as np


@style.styled
def draw_personalization(request: request_lib.Request) -> request_lib.Figures:
  """What fine-tuning does to the clients that launch.evaluate has scored.

  In one figure a point a client: its score before and after. In the other a
  thin line a client, by the share of its data, and a thick one for their mean.
  """
  tables = {
    label: table
    for label, runs in request.groups.items()
    if (table := _read_scores(runs, request.name)).size
  }
  if not tables:
    return {}
  cells, width = list(tables), 3.3
  looks = style.series_looks(cells)
  higher_is_better = metric_names.higher_is_better(request.name)
  name = style.metric_title(request.name)
  scatter, upper = panels.new_grid(cells, (width, 4.1))
  few_shot, lower = panels.new_grid(cells, (width, 3.5), sharey=True)
  for (label, table), axis in zip(tables.items(), upper):
    before, after = table[0], table[-1]
    panels.compare_axes(axis, [of[[0, -1]] for of in tables.values()])
    look = {key: looks[label][key] for key in ('color', 'marker')}
    panels.draw_points(axis, before, after, 26, alpha=0.65, **look)
    means = before.mean(), after.mean()
    axis.plot(*means, '+', color=style.INK, ms=12, mew=2, zorder=5)
    change = ranking.gains(after, before, higher_is_better=higher_is_better)
    summary = '{} gain, {} lose; mean {} to {}'.format(
      (change > 0).sum(), (change < 0).sum(), *map(style.format_value, means)
    )
    y_label = f'{name} after fine-tuning'
    panels.set_labels(axis, f'{name} before', y_label, label, summary)
  shares = list(run_reader.FEW_SHOT_COLUMNS)
  for (label, table), axis in zip(tables.items(), lower):
    look = looks[label] | {'linestyle': '-', 'linewidth': 2.4, 'markersize': 7}
    axis.plot(shares, table, color=look['color'], linewidth=0.6, alpha=0.35)
    axis.plot(shares, table.mean(axis=1), zorder=4, **look)
    axis.set_xticks(shares)
    axis.xaxis.set_major_formatter(ticker.PercentFormatter(1.0, decimals=0))
    axis.margins(x=0.12)
    y_label = f'{name} on the unseen half'
    panels.set_labels(axis, "Share of a client's data", y_label, label)
    means = map(style.format_value, table.mean(axis=1))
    panels.write_above(axis, dict(zip(shares, means)))
  title = 'personalisation of held-out clients'
  panels.set_figure_title(scatter, request.title(title.capitalize()))
  panels.set_figure_title(few_shot, request.title(f'Few-shot {title}'))
  scored = _tell_clients(request, [of.shape[1] for of in tables.values()])
  panels.draw_legend(scatter, note=f'{scored} Cross: their mean.')
  note = f'{scored} Thick line and numbers: their mean.'
  panels.draw_legend(few_shot, note=note)
  return {
    request_lib.slug(f'personalization_{request.name}'): scatter,
    request_lib.slug(f'few_shot_{request.name}'): few_shot,
  }


def _tell_clients(request: request_lib.Request, counts: Sequence[int]) -> str:
  """Returns a note on the clients that `launch.evaluate` has scored."""
  evaluated = {
    label: found
    for label, runs in request.groups.items()
    if (found := [run for run in runs if run.clients is not None])
  }
  note = run_notes.describe(evaluated, 'the clients of all are one set')
  return f'{run_notes.span(counts)} held-out clients a method. {note}'


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
  note = _tell_clients(request, [len(values) for values in scores.values()])
  panels.draw_legend(figure, entries, note=note)
  return {request_lib.slug(f'client_spread_{request.name}'): figure}
