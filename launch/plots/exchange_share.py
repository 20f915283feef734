# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Plots of a sweep's scores against the share of weights that clients send."""

from collections.abc import Sequence
import math
from typing import Any

from launch.plots import curves
from launch.plots import panels
from launch.plots import style
from launch.results import column_titles
from launch.results import method_labels
from launch.results import run_notes
from launch.results import sweep_results

from matplotlib import figure as mpl_figure
import numpy as np
import pandas as pd

SHARE = 'exchange.share'
_EXCHANGE = 'exchange.'
_DIRECTION = 'exchange.direction'
_VARIANT = 'variant'
_F1 = 'f1_'
_BYTES = 'total/payload_bytes'
# The prefixes of columns: scores of the server's model, and of the models of
# clients that keep the weights that no client has sent.
_MODELS = {
  'test/global/': 'on test data',
  'test/clients/': "of the clients' own models on test data",
}
_UNSENT = {
  'server_keeps': 'server keeps the unsent',
  'client_keeps': 'clients keep the unsent',
}
_MOST_COLUMNS = 3
_POOLING = (
  'lines are their means, bands, where there are few, from the lowest to the '
  'highest'
)


def is_over_shares(runs: pd.DataFrame) -> bool:
  """Returns whether a sweep's runs differ in the share that is sent."""
  shares = {of[SHARE] for of in runs['varied'] if SHARE in of}
  return len(shares) > 1


def draw(runs: pd.DataFrame) -> dict[str, mpl_figure.Figure]:
  """Draws a sweep over shares; returns figures by the names of their files.

  Lines are the rules of the exchange and the variants; panels are the values of
  the other fields. If everything is sent, the rules do not matter: such runs
  are the ends of all lines of their variant that have no such run of their own.

  Args:
    runs: The runs of the sweep; see `sweep_results.read_results`.
  """
  metric = sweep_results.judged(runs).metric
  selections = {
    config['exchange']['selection']
    for config in runs['config']
    if 'exchange' in config
  }
  what = 'weights' if 'coordinates' in selections else 'tensors'
  x_label = f'Share of the {what} that are sent'
  figures = {}
  for prefix, whose in _MODELS.items():
    column = prefix + metric
    name = f'share_{prefix.split("/")[1]}'
    title = f'{column_titles.title(metric)} {whose}'
    f1 = f'F1 of each class {whose}'
    by_bytes = f'{title} against what clients have sent, a point for each share'
    for file_name, points, words, label in (
      (f'{name}_{metric}', _read_lines(runs, column), title, x_label),
      (f'{name}_f1', _class_scores(runs, prefix), f1, x_label),
      (
        f'{name}_{metric}_by_bytes',
        _read_lines(runs, column, _BYTES),
        by_bytes,
        'Sent by all clients',
      ),
    ):
      if len(points):
        score = 'F1' if words == f1 else metric
        figures[style.slug(file_name)] = plot_scores(
          points,
          x_label=label,
          y_label=column_titles.title(f'test/{score}'),
          title=run_notes.name_task(words, runs),
          note=run_notes.describe_finished(runs, _POOLING),
          in_bytes=words == by_bytes,
        )
  return figures


def _class_scores(runs: pd.DataFrame, prefix: str) -> pd.DataFrame:
  """Returns points with a row of panels for each line, and classes as lines."""
  parts = [
    _read_lines(runs, column).assign(
      row=lambda of: of['line'],
      line=column.removeprefix(prefix + _F1).replace('_', ' '),
    )
    for column in runs
    if column.startswith(prefix + _F1) and not column.endswith('_std')
  ]
  return pd.concat(parts) if parts else pd.DataFrame()


def _read_lines(
  runs: pd.DataFrame, y: str, x: str | None = None
) -> pd.DataFrame:
  """Returns the points of a figure; empty if no run has values.

  Args:
    runs: The runs of the sweep.
    y: The column of scores.
    x: The column that they are drawn against; None for the share.

  Returns:
    A row per run and line: `row`, `panel`, `line`, `share`, `x` and `y`.
  """
  values = runs.reindex(columns=[y] if x is None else [x, y]).astype(float)
  # A pair that is not finite cannot be drawn.
  kept = values.notna() if x is None else np.isfinite(values)
  kept = runs[kept.all(axis=1)]
  if kept.empty:
    return kept
  fields = dict.fromkeys(name for varied in runs['varied'] for name in varied)
  told = [*fields, 'exchange.sent']
  methods = method_labels.label_methods(kept, besides=told)
  kept = kept.assign(method=methods)
  names = [f for f in fields if f.startswith(_EXCHANGE) and f != SHARE]
  if runs[_VARIANT].nunique() > 1:
    names.insert(0, _VARIANT)
  skipped = {'seed'}
  if not sweep_results.is_tuned(runs):
    # Each setting has one pair of rates, which follow from it.
    skipped |= set(sweep_results.RATES)
  others = [
    f for f in fields if not f.startswith(_EXCHANGE) and f not in skipped
  ]

  def describe(names: Sequence[str]) -> list[str]:
    return [_describe(run, names) for _, run in kept.iterrows()]

  points = pd.DataFrame(
    {
      'row': '',
      'panel': describe(others),
      'line': describe(names),
      'kind': describe([name for name in names if name != _DIRECTION]),
      'share': [float(varied.get(SHARE, 1)) for varied in kept['varied']],
      _VARIANT: kept[_VARIANT],
      'group': kept['group'],
      'y': values[y],
    },
    index=kept.index,
  )
  points['x'] = points['share'] if x is None else values[x]
  parts = points[points['share'] < 1]
  lines = [parts]
  whole = points[points['share'] >= 1]
  for key, ends in whole.groupby(['panel', _VARIANT], sort=False):
    own = parts[(parts['panel'] == key[0]) & (parts[_VARIANT] == key[1])]
    own = own.drop_duplicates('line')
    for line, kind in zip(own['line'], own['kind']):
      same = ends[ends['kind'] == kind]
      same = ends[:1] if same.empty else same[-1:]
      end = ends[ends['group'] == same['group'].iloc[0]]
      lines.append(end.assign(line=line))
    if own.empty:
      lines.append(ends.assign(line=ends['kind']))
  return pd.concat(lines)


def _describe(run: pd.Series, fields: Sequence[str]) -> str:
  """Returns the label of a run's values of some fields."""
  parts = []
  for field in fields:
    if field == _VARIANT:
      parts.append(run['method'])
    elif field in run['varied']:
      parts.append(_describe_field(field, run['varied'][field]))
  return ', '.join(parts)


def _describe_field(field: str, value: Any) -> str:
  name = field.rpartition('.')[2].replace('_', ' ')
  if isinstance(value, float):
    value = f'{value:g}'
  if field == _DIRECTION:
    return f'{value} drift'
  if field == f'{_EXCHANGE}unsent':
    return _UNSENT.get(value, str(value))
  return f'{name} {value}'


@style.styled
def plot_scores(
  points: pd.DataFrame,
  *,
  y_label: str,
  title: str,
  note: str = '',
  x_label: str,
  in_bytes: bool = False,
) -> mpl_figure.Figure:
  """Plots the mean over seeds against the share or the bytes sent.

  Args:
    points: A row per seed and point, at least one: `row` and `panel`, the names
      of a row of panels and of a panel; `line`, `share`, `x` and `y`.
      Non-finite points are left out. The panels of a single row are broken into
      several rows.
    title: The title of the figure.
    note: A note on the runs.
    x_label: The label of x.
    y_label: The label of y.
    in_bytes: Whether x are bytes.
  """
  rows = {
    row: {
      panel: {
        line: drawn
        for line, of in lines.groupby('line', sort=False)
        if len((drawn := _read_points(of))[0])
      }
      for panel, lines in of_row.groupby('panel', sort=False)
    }
    for row, of_row in points.groupby('row', sort=False)
  }
  most = max(map(len, rows.values()))
  columns = most if len(rows) > 1 else min(_MOST_COLUMNS, most)
  cells = []
  for row, of_row in rows.items():
    cells += [(row, *panel) for panel in of_row.items()]
    cells += [None] * (-len(cells) % columns)
  figure, axes = panels.new_grid(
    cells, (3.3, 2.9), columns=columns, sharey=True
  )
  looks = style.series_looks(list(dict.fromkeys(points['line'])))
  xs = [
    x for *_, of in filter(None, cells) for xs, _ in of.values() for x in xs
  ]
  xs = [x for x in xs if x > 0]
  logarithmic = in_bytes and max(xs, default=0) > curves.BYTES_RATIO * min(
    xs, default=0
  )
  entries = {}
  for axis, (row, panel, lines) in zip(axes, filter(None, cells)):
    panels.draw_lines(
      axis,
      lines,
      looks,
      unit='B' if in_bytes else None,
      log_ratio=0 if logarithmic else math.inf,
    )
    if not logarithmic:
      axis.set_xlim(left=0)
    axis.tick_params(labelleft=True)
    label = y_label + (row and f', {row}')
    panels.set_labels(axis, x_label, label, panel)
    handles = axis.get_legend_handles_labels()[0]
    entries |= {handle.get_label(): handle for handle in handles}
  panels.draw_legend(figure, list(entries.values()), note=note)
  panels.set_figure_title(figure, title)
  return figure


def _read_points(line: pd.DataFrame) -> tuple[np.ndarray, np.ma.MaskedArray]:
  """Returns mean x over seeds, and finite y `[seeds, points]`."""
  line = line[np.isfinite(line[['x', 'y']]).all(axis=1)]
  by_share = line.groupby('share')
  seeds = line.assign(seed=by_share.cumcount())
  ys = seeds.pivot(index='seed', columns='share', values='y')
  return by_share['x'].mean().to_numpy(), np.ma.masked_invalid(ys)
