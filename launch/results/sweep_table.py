# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The tables of a sweep: a row a run, and a row a group of seeds.

Plain Python, without TensorFlow.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import math
from typing import Any
from typing import NamedTuple

from fedfish_tff.evaluation import metric_names
from fedfish_tff.evaluation import ranking
from launch import plain_text
from launch.results import frames as frames_lib
from launch.results import sweep_results
from launch.results import text_table

import pandas as pd

_KINDS = ('validation', 'test', 'csb')
NOTHING = 'No run has a result to show yet.'


def runs_to_csv(
  runs: pd.DataFrame,
  *,
  failures: Mapping[str, str],
  usage: Mapping[str, Mapping[str, float]],
) -> bytes:
  """Returns a row a run: its fields, how it ended, and all its numbers.

  Args:
    runs: The runs of a sweep.
    failures: Why runs have failed, by name.
    usage: Their `seconds` and `peak_bytes`, by name.
  """
  costs = ['seconds', 'peak_bytes']
  numbers = [name for name in runs if '/' in name]
  head, *told = run_rows(runs, failures)
  used = [usage.get(name, {}) for name in runs['run']]
  rows = [
    [*row, *(of.get(cost, '') for cost in costs), *map(_to_cell, values)]
    for row, of, values in zip(told, used, runs[numbers].to_numpy())
  ]
  return text_table.to_csv([*head, *costs, *numbers], rows, keep_nan=True)


def _to_cell(value: float) -> float | str:
  """Returns a number; what is not finite is nan: the run has diverged."""
  if math.isnan(value):
    return ''
  return value if math.isfinite(value) else math.nan


def run_rows(
  runs: pd.DataFrame, failures: Mapping[str, str]
) -> list[list[Any]]:
  """Returns a header, and a row a run: its fields and how it ended.

  Args:
    runs: The runs of a sweep.
    failures: Why runs have failed, by name.
  """
  fields = _names(runs['varied'])
  rows = [['run', 'variant', *fields, 'status', 'reason']]
  for name, variant, varied, finished in zip(
    *(runs[c] for c in ('run', 'variant', 'varied', 'is_finished'))
  ):
    status = 'done' if finished else 'unfinished'
    if name in failures:
      status = 'failed'
    values = (varied.get(field, '') for field in fields)
    rows.append([name, variant, *values, status, failures.get(name, '')])
  return rows


def groups_to_csv(runs: pd.DataFrame) -> bytes:
  """Returns a row a group: mean, deviation, seeds and diverged of its columns.

  The column `best` marks, of groups that differ by learning rates only, the
  one that is best on validation clients; where rates do not vary, the best of
  all, with those that tie with it.

  Args:
    runs: The runs of a sweep.
  """
  groups = sweep_results.groups(runs)
  fields = _fields(runs)
  columns = _table_columns(runs)
  if sweep_results.varies_rates(groups):
    best = [of.index[0] for of in sweep_results.best_groups(groups)]
  else:
    best = [groups[row].index[0] for row in _best_rows(groups)]
  head = ['variant', *fields, 'best', 'runs', 'finished']
  for column in columns:
    head += [f'{column} {part}' for part in frames_lib.Cell._fields]
  rows = []
  for group in groups:
    row = [
      *_tell(group, fields),
      'yes' if group.index[0] in best else '',
      len(group),
      int(group['is_finished'].sum()),
    ]
    for column in columns:
      row += sweep_results.cell(group, column)
    rows.append(row)
  return text_table.to_csv(head, rows)


class SweepTable(NamedTuple):
  """What people read of a sweep.

  Attributes:
    notes: What is said of the rows.
    rows: The header and the rows; none without a result.
    bold: The row, counted from the header's 0, and the column of the best of
      all, and of those that tie with it; none without one.
  """

  notes: list[str]
  rows: list[list[str]]
  bold: Sequence[tuple[int, int]]


def to_markdown(title: str, runs: pd.DataFrame) -> str:
  """Returns the table that people read: mean and deviation over seeds.

  Where groups differ by learning rates, the best of them on validation clients
  stand for all; the others are in table.csv.

  Args:
    title: What the sweep is called.
    runs: The runs of a sweep.
  """
  notes, rows, bold = make_table(runs)
  table = text_table.to_markdown(rows, bold=bold) if rows else NOTHING
  title, *notes = map(plain_text.markdown, [title, *notes])
  return '\n'.join([f'# {title}', '', *notes, '', table]) + '\n'


def to_latex(title: str, runs: pd.DataFrame) -> str:
  """Returns the same table as a tabular; the rest is comments.

  Args:
    title: What the sweep is called.
    runs: The runs of a sweep.
  """
  notes, rows, bold = make_table(runs)
  comments = map(
    plain_text.line, [title, *notes, r'It needs \usepackage{booktabs}.']
  )
  table = text_table.to_latex(rows, bold=bold) if rows else f'% {NOTHING}'
  return '\n'.join([*(f'% {line}' for line in comments), table]) + '\n'


def make_table(runs: pd.DataFrame) -> SweepTable:
  """Returns the table of all groups, or of those with the best rates.

  Args:
    runs: The runs of a sweep.
  """
  groups = sweep_results.groups(runs)
  metric = sweep_results.judged(runs).metric
  tuned = sweep_results.varies_rates(groups)
  shown = sweep_results.best_groups(groups) if tuned else groups
  fields = _fields(runs)
  columns = _table_columns(runs, metric)
  notes = [
    f'{int(runs["is_finished"].sum())} of {len(runs)} runs are finished. Numbers are '
    'those after the last round: mean ± sample standard deviation over seeds '
    '(number of seeds, where there are several).'
  ]
  made_up = dict.fromkeys(runs['made_up'].dropna())
  if made_up:
    notes.append(f'The data are made up: {", ".join(made_up)}.')
  if not shown:
    return SweepTable(notes, [], [])
  if tuned:
    decide = dict.fromkeys(
      sweep_results.validation_column(of, metric) for of in shown
    )
    notes.append(
      f'Of the learning rates, those that were best by {" or ".join(decide)} are '
      'shown; test clients had no part in the choice. table.csv has all.'
    )
    notes += _tell_without_best(groups, shown)
  head = ['variant', *fields, *columns]
  rows = []
  for of in shown:
    missing = len(of) - int(of['is_finished'].sum())
    cells = [sweep_results.cell(of, column) for column in columns]
    rows.append(
      [
        *map(_format, _tell(of, fields)),
        *(frames_lib.format_cell(cell, missing) for cell in cells),
      ]
    )
  bold = [
    (row + 1, head.index(column))
    for row in _best_rows(shown)
    if (column := sweep_results.validation_column(shown[row])) in head
  ]
  if bold:
    notes.append('The best of all on validation clients is bold.')
  return SweepTable(notes, [head, *rows], bold)


def _tell_without_best(
  groups: Sequence[pd.DataFrame], shown: Sequence[pd.DataFrame]
) -> list[str]:
  """Returns a line that names what has no row in a table of the best."""
  told = [sweep_results.setting(group) for group in shown]
  absent = []
  for group in groups:
    setting = sweep_results.setting(group)
    if setting not in told:
      told.append(setting)
      absent.append(' '.join(map(_format, setting.values())))
  if not absent:
    return []
  return [
    f'Not shown, since all runs have diverged or are not finished: '
    f'{", ".join(absent)}.'
  ]


def _best_rows(groups: Sequence[pd.DataFrame]) -> list[int]:
  """Returns which groups are best on validation clients: one, or ties."""
  values = {i: sweep_results.validation(of) for i, of in enumerate(groups)}
  finite = {i: value for i, value in values.items() if not math.isnan(value)}
  # What is not measured alike does not compare.
  columns = {sweep_results.validation_column(groups[i]) for i in finite}
  if len(finite) < 2 or len(columns) > 1:
    return []
  higher_is_better = sweep_results.judged(pd.concat(groups)).higher_is_better
  return [
    i
    for i, value in finite.items()
    if not any(
      ranking.is_better(other, value, higher_is_better=higher_is_better)
      for other in finite.values()
    )
  ]


def _table_columns(runs: pd.DataFrame, metric: str | None = None) -> list[str]:
  """Returns the columns of held-out clients and barriers, of all metrics or one.

  Counts are left out.
  """
  shown = metric, f'{metric}_worst_tenth'
  return [
    column
    for kind in _KINDS
    for column in runs
    if column.startswith(f'{kind}/')
    and not column.endswith('/num_clients')
    and not metric_names.is_count(column)
    and (metric is None or column.rpartition('/')[2] in shown)
  ]


def _fields(runs: pd.DataFrame) -> list[str]:
  """Returns the fields in which groups differ."""
  return [name for name in _names(runs['varied']) if name != 'seed']


def _tell(group: pd.DataFrame, fields: Sequence[str]) -> list[Any]:
  """Returns a group's variant and values of fields."""
  first = group.iloc[0]
  return [first.variant, *(first.varied.get(field, '') for field in fields)]


def _format(value: Any) -> str:
  return f'{value:g}' if isinstance(value, float) else str(value)


def _names(mappings) -> list[str]:
  return list(dict.fromkeys(name for mapping in mappings for name in mapping))
