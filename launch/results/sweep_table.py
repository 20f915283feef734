# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The tables of a sweep, with a row per run or per group of seeds.

This is plain Python, without TensorFlow.
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
_BYTES = 'total/wire_bytes'
_MEGABYTES = 'total/wire_megabytes'
NOTHING = 'No run has a result to show yet.'


def runs_to_csv(
  runs: pd.DataFrame,
  *,
  failures: Mapping[str, str],
  usage: Mapping[str, Mapping[str, float]],
) -> bytes:
  """Returns a CSV with a row per run: its fields, status and numbers.

  Args:
    runs: The runs of a sweep.
    failures: The reasons why runs have failed, by name.
    usage: The `seconds` and `peak_bytes` of runs, by name.
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
  """Returns a number's cell: '' for NaN, and NaN for an infinite number."""
  if math.isnan(value):
    return ''
  return value if math.isfinite(value) else math.nan


def run_rows(
  runs: pd.DataFrame, failures: Mapping[str, str]
) -> list[list[Any]]:
  """Returns a header, and a row per run with its fields and status.

  Args:
    runs: The runs of a sweep.
    failures: The reasons why runs have failed, by name.
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
  """Returns a CSV with a row per group: the statistics of its columns.

  The column `best` marks, among groups that differ only in learning rates, the
  one that is best on validation clients. If rates do not vary, it marks the
  best of all groups, with ties.

  Args:
    runs: The runs of a sweep.
  """
  table = sweep_results.tabulate(runs)
  fields = _names(table['varied'])
  columns = _table_columns(runs)
  best = _best_rows(table)
  if sweep_results.is_tuned(runs):
    best = table.index[table['is_best']]
  head = ['variant', *fields, 'best', 'runs', 'finished']
  for column in columns:
    head += [f'{column} {part}' for part in frames_lib.Cell._fields]
  rows = []
  for index, group in table.iterrows():
    row = [
      group.variant,
      *(group.varied.get(field, '') for field in fields),
      'yes' if index in best else '',
      group.runs,
      group.finished,
    ]
    for column in columns:
      row += group[column]
    rows.append(row)
  return text_table.to_csv(head, rows)


class SweepTable(NamedTuple):
  """The table of a sweep for people.

  Attributes:
    notes: The sentences above the rows.
    rows: The header and the rows; empty without a result.
    bold: The row, counted from 0 for the header, and the column of each bold
      cell: the best of all, with ties; empty without a best.
  """

  notes: list[str]
  rows: list[list[str]]
  bold: Sequence[tuple[int, int]]


def to_markdown(title: str, runs: pd.DataFrame) -> str:
  """Returns the table for people: mean and deviation over seeds.

  If groups differ in learning rates, it only has those that are best on
  validation clients; the others are in table.csv.

  Args:
    title: The title.
    runs: The runs of a sweep.
  """
  notes, rows, bold = make_table(runs)
  table = text_table.to_markdown(rows, bold=bold) if rows else NOTHING
  title, *notes = map(plain_text.markdown, [title, *notes])
  return '\n'.join([f'# {title}', '', *notes, '', table]) + '\n'


def to_latex(title: str, runs: pd.DataFrame) -> str:
  """Returns the same table as a LaTeX tabular, with comments for the rest.

  Args:
    title: The title.
    runs: The runs of a sweep.
  """
  notes, rows, bold = make_table(runs)
  comments = map(
    plain_text.line, [title, *notes, r'It needs \usepackage{booktabs}.']
  )
  table = text_table.to_latex(rows, bold=bold) if rows else f'% {NOTHING}'
  return '\n'.join([*(f'% {line}' for line in comments), table]) + '\n'


def make_table(runs: pd.DataFrame) -> SweepTable:
  """Returns the table of all groups, or of those with the best learning rates.

  Args:
    runs: The runs of a sweep.
  """
  if _BYTES in runs:
    runs = runs.assign(**{_MEGABYTES: runs[_BYTES] / 1e6})
  table = sweep_results.tabulate(runs)
  tuned = sweep_results.is_tuned(runs)
  shown = table[table['is_best']] if tuned else table
  fields = _names(table['varied'])
  columns = _table_columns(runs, sweep_results.judged(runs).metric)
  columns += [name for name in runs if name == _MEGABYTES]
  notes = [
    f'{table["finished"].sum()} of {len(runs)} runs are finished. Numbers are '
    'those after the last round: mean ± sample standard deviation over seeds '
    '(number of seeds, where there are several).'
  ]
  made_up = dict.fromkeys(runs['made_up'].dropna())
  if made_up:
    notes.append(f'The data are made up: {", ".join(made_up)}.')
  if shown.empty:
    return SweepTable(notes, [], [])
  if tuned:
    decide = dict.fromkeys(shown['column'])
    notes.append(
      f'Of the learning rates, those that were best by {" or ".join(decide)} are '
      'shown; test clients had no part in the choice. table.csv has all.'
    )
    notes += _tell_without_best(table)
  head = ['variant', *fields, *columns]
  rows = [
    [
      group.variant,
      *(_format(group.varied.get(field, '')) for field in fields),
      *(
        frames_lib.format_cell(group[column], group.runs - group.finished)
        for column in columns
      ),
    ]
    for _, group in shown.iterrows()
  ]
  bold = [
    (shown.index.get_loc(index) + 1, head.index(column))
    for index in _best_rows(shown)
    if (column := shown.loc[index, 'column']) in head
  ]
  if bold:
    notes.append('The best of all on validation clients is bold.')
  return SweepTable(notes, [head, *rows], bold)


def _tell_without_best(table: pd.DataFrame) -> list[str]:
  """Returns a line that names the settings without a best group."""
  keys = table['setting'].map(repr)
  absent = table[~keys.isin(keys[table['is_best']])]
  if absent.empty:
    return []
  names = dict.fromkeys(
    ' '.join(map(_format, setting.values())) for setting in absent['setting']
  )
  return [
    f'Not shown, since all runs have diverged or are not finished: '
    f'{", ".join(names)}.'
  ]


def _best_rows(table: pd.DataFrame) -> list[int]:
  """Returns the index of the best of all groups, and of those that tie."""
  finite = table[table['validation'].notna()]
  # Groups that are judged by different columns do not compare.
  if len(finite) < 2 or finite['column'].nunique() > 1:
    return []
  values = finite['validation'].to_dict()
  higher_is_better = table['higher_is_better'].iloc[0]
  return [
    index
    for index, value in values.items()
    if not any(
      ranking.is_better(other, value, higher_is_better=higher_is_better)
      for other in values.values()
    )
  ]


def _table_columns(runs: pd.DataFrame, metric: str | None = None) -> list[str]:
  """Returns the columns of held-out clients and barriers in all metrics or one.

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


def _format(value: Any) -> str:
  return f'{value:g}' if isinstance(value, float) else str(value)


def _names(mappings) -> list[str]:
  return list(dict.fromkeys(name for mapping in mappings for name in mapping))
