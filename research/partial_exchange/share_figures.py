# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Draws a sweep's scores against the share of weights that clients send.

  python -m research.partial_exchange.share_figures \
    --sweep_dir=runs/ag_news_linear --output_dir=plots

writes, for the server's model and for the models of clients that keep weights,
share_<model>_<metric>.png, its _by_bytes against what all clients have sent, and
share_<model>_f1.png with a line for each class. Lines are the rules of the
exchange and the variants; panels are the values of the sweep's other fields.
"""

from collections.abc import Sequence
import math
from typing import Any

from fedfish_tff import errors
from launch import cli
from launch import path_flags
from launch.plots import catalogue
from launch.plots import curves
from launch.plots import panels
from launch.plots import style
from launch.results import column_titles
from launch.results import run_labels
from launch.results import run_notes
from launch.results import sweep_folder
from launch.results import sweep_results

from matplotlib import figure as mpl_figure
import numpy as np
import pandas as pd

_SHARE = 'exchange.share'
_EXCHANGE = 'exchange.'
_DIRECTION = 'exchange.direction'
_VARIANT = 'variant'
_F1 = 'f1_'
_BYTES = 'total/payload_bytes'
_BY_BYTES = 'against what clients have sent, a point for each share'
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
_POOLING = 'lines are their means, and bands go from the lowest to the highest'

_SWEEP_DIR = path_flags.define('sweep_dir', None, 'A folder of launch.sweep.')
_OUTPUT_DIR = path_flags.define(
  'output_dir', None, 'The folder for the figures; made if it does not exist.'
)


def draw(runs: pd.DataFrame) -> dict[str, mpl_figure.Figure]:
  """Draws a sweep over shares; returns figures by the names of their files.

  Lines are the rules of the exchange and the variants; panels are the values of
  the other fields. If everything is sent, the rules do not matter: such runs
  are the ends of all lines of their variant that have no such run of their own.

  Args:
    runs: The runs, of `sweep_results.read_results`. Finished ones must differ
      in the share that is sent.
  """
  left_out = sweep_results.tell_unfinished(runs)
  runs = runs[runs['is_finished'].astype(bool)]
  shares = {of[_SHARE] for of in runs['varied'] if _SHARE in of}
  if len(shares) < 2:
    raise errors.InputError(
      f'The finished runs of the sweep must differ in {_SHARE}, got '
      f'{shares.pop() if shares else "none"} in all.'
    )
  metric = sweep_results.judged(runs).metric
  selections = {
    config['exchange']['selection']
    for config in runs['config']
    if 'exchange' in config
  }
  what = 'weights' if 'coordinates' in selections else 'tensors'
  share = f'Share of the {what} that are sent'
  notes = [
    run_notes.describe_finished(runs, _POOLING).removesuffix('.'),
    left_out,
  ]
  figures = {}
  for prefix, whose in _MODELS.items():
    title = f'{column_titles.title(metric)} {whose}'
    by_bytes = _read_lines(runs, prefix + metric, _BYTES)
    for name, score, words, points in (
      (metric, metric, title, _read_lines(runs, prefix + metric)),
      ('f1', 'f1', f'F1 of each class {whose}', _class_scores(runs, prefix)),
      (f'{metric}_by_bytes', metric, f'{title} {_BY_BYTES}', by_bytes),
    ):
      in_bytes = points is by_bytes
      if len(points):
        starts = _tell_starts(runs, points, prefix + metric)
        file_name = style.slug(f'share_{prefix.split("/")[1]}_{name}')
        figures[file_name] = plot_scores(
          points,
          x_label='Sent by all clients' if in_bytes else share,
          metric=score,
          title=run_notes.name_task(words, runs),
          note=run_notes.join([*notes, starts]),
          in_bytes=in_bytes,
        )
  return figures


def _tell_starts(runs: pd.DataFrame, points: pd.DataFrame, column: str) -> str:
  """Returns the note of `run_notes.tell_starts` on the lines of a figure."""
  drawn = runs.loc[points.index]
  # The only line of a variant may have no name.
  names = [of or other for of, other in zip(points['line'], drawn['variant'])]
  return run_notes.tell_starts(drawn.assign(label=names), [column])


def _class_scores(runs: pd.DataFrame, prefix: str) -> pd.DataFrame:
  """Returns points with a row of panels for each line, and classes as lines."""
  parts = [
    _read_lines(runs, column).assign(
      row=lambda of: of['line'],
      line=column.removeprefix(prefix + _F1).replace('_', ' '),
    )
    for column in runs
    if column.startswith(prefix + _F1) and not column.endswith('_client_std')
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
  runs = runs.assign(y=values[y])[kept.all(axis=1)]
  if runs.empty:
    return runs
  fields = dict.fromkeys(name for varied in runs['varied'] for name in varied)
  labels = run_labels.label_methods(runs, besides=[*fields, f'{_EXCHANGE}sent'])
  if runs[_VARIANT].nunique() == 1:
    labels = [''] * len(runs)
  # Each setting has one pair of rates, which follow from it, unless tuned.
  tuned = sweep_results.is_tuned(runs)
  untold = {'seed', *(() if tuned else run_labels.RATES)}
  rules = [f for f in fields if f.startswith(_EXCHANGE) and f != _SHARE]
  others = [f for f in fields if not f.startswith(_EXCHANGE)]

  def describe(names: Sequence[str]) -> list[str]:
    return [
      ', '.join(_describe(f, varied[f]) for f in names if f in varied)
      for varied in runs['varied']
    ]

  def join(*parts: Sequence[str]) -> list[str]:
    return [', '.join(filter(None, texts)) for texts in zip(*parts)]

  points = runs[[_VARIANT, 'group', 'y']].assign(
    row='',
    panel=describe([f for f in others if f not in untold]),
    line=join(labels, describe(rules)),
    kind=join(labels, describe([f for f in rules if f != _DIRECTION])),
    share=[float(varied.get(_SHARE, 1)) for varied in runs['varied']],
  )
  points['x'] = points['share'] if x is None else values[x]
  return pd.concat(
    [
      _end_lines(of)
      for _, of in points.groupby(['panel', _VARIANT], sort=False)
    ]
  )


def _end_lines(points: pd.DataFrame) -> pd.DataFrame:
  """Adds, to each line of a panel and variant, the runs that send everything.

  Of several groups of such runs, a line ends in the last of its own rules, or
  else in the first.
  """
  parts, ends = points[points['share'] < 1], points[points['share'] >= 1]
  if parts.empty or ends.empty:
    return points.assign(
      line=points['line'].where(points['share'] < 1, points['kind'])
    )
  lines = [parts]
  for line, of in parts.groupby('line', sort=False):
    own = ends[ends['kind'] == of['kind'].iloc[0]]['group']
    group = ends['group'].iloc[0] if own.empty else own.iloc[-1]
    lines.append(ends[ends['group'] == group].assign(line=line))
  return pd.concat(lines)


def _describe(field: str, value: Any) -> str:
  """Returns the words for the value of a field."""
  if field == _DIRECTION:
    return f'{value} drift'
  if field == f'{_EXCHANGE}unsent':
    return _UNSENT.get(value, str(value))
  shown = f'{value:g}' if isinstance(value, float) else value
  return run_labels.describe_fields({field: shown})[0]


@style.styled
def plot_scores(
  points: pd.DataFrame,
  *,
  metric: str,
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
    x_label: The label of x, below each panel.
    metric: The metric of y, on test clients.
    in_bytes: Whether x are bytes.
  """
  shown = dict(list(points.groupby(['row', 'panel'], sort=False)))
  rows, names = points['row'].unique(), points['panel'].unique()
  cells = [(row, name) for row in rows for name in names]
  figure, axes = panels.new_grid(
    [cell if cell in shown else None for cell in cells],
    (3.3, 2.9),
    columns=len(names) if len(rows) > 1 else _MOST_COLUMNS,
    sharey=True,
  )
  y_label = column_titles.title(f'test/{metric}')
  looks = style.series_looks(points['line'].unique())
  sent = points['x'][points['x'] > 0]
  logarithmic = in_bytes and sent.max() > curves.BYTES_RATIO * sent.min()
  entries = {}
  for axis, (row, name) in zip(axes, filter(shown.__contains__, cells)):
    of_panel = shown[row, name]
    lines = {
      line: _read_points(of)
      for line, of in of_panel[np.isfinite(of_panel['y'])].groupby(
        'line', sort=False
      )
    }
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
    panels.set_labels(axis, x_label, label, name)
    handles = axis.get_legend_handles_labels()[0]
    entries |= {handle.get_label(): handle for handle in handles}
  panels.limit_shares(axes, metric)
  panels.draw_legend(figure, list(entries.values()), note=note)
  panels.set_figure_title(figure, title)
  return figure


def _read_points(line: pd.DataFrame) -> tuple[np.ndarray, np.ma.MaskedArray]:
  """Returns mean x over seeds, and finite y `[seeds, points]`."""
  by_share = line.groupby('share')
  seeds = line.assign(seed=by_share.cumcount())
  ys = seeds.pivot(index='seed', columns='share', values='y')
  return by_share['x'].mean().to_numpy(), np.ma.masked_invalid(ys)


def main(argv: Sequence[str]) -> None:
  """Runs the binary."""
  cli.check_no_arguments(argv)
  cli.check_given(_SWEEP_DIR, _OUTPUT_DIR)
  folder = sweep_folder.SweepFolder(_SWEEP_DIR.value)
  figures = draw(sweep_results.read_results(folder))
  for path in catalogue.write_figures(figures, _OUTPUT_DIR.value):
    print(path)


if __name__ == '__main__':
  cli.run(main)
