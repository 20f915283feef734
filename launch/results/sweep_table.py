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
from launch.results import run_reader
from launch.results import seed_statistics
from launch.results import sweep_results
from launch.results import text_table

_KINDS = ('validation', 'test', 'csb')
NOTHING = 'No run has a result to show yet.'


def runs_to_csv(
  results: Sequence[run_reader.Run],
  *,
  failures: Mapping[str, str],
  usage: Mapping[str, Mapping[str, float]],
) -> bytes:
  """Returns a row a run: its fields, how it ended, and all its numbers.

  Args:
    results: The runs.
    failures: Why runs have failed, by name.
    usage: Their `seconds` and `peak_bytes`, by name.
  """
  columns = _names(result.values for result in results)
  head, *told = run_rows(results, failures)
  rows = [
    [
      *row,
      *(
        usage.get(result.name, {}).get(name, '')
        for name in ('seconds', 'peak_bytes')
      ),
      # A number that is not finite is written as it is: the run diverged.
      *(result.values.get(column, '') for column in columns),
    ]
    for result, row in zip(results, told, strict=True)
  ]
  head += ['seconds', 'peak_bytes', *columns]
  return text_table.to_csv(head, rows, keep_nan=True)


def run_rows(
  results: Sequence[run_reader.Run], failures: Mapping[str, str]
) -> list[list[Any]]:
  """Returns a header, and a row a run: its fields and how it ended.

  Args:
    results: The runs.
    failures: Why runs have failed, by name.
  """
  fields = _names(result.fields for result in results)
  return [
    ['run', 'variant', *fields, 'status', 'reason'],
    *(
      [
        result.name,
        result.variant,
        *(result.fields.get(field, '') for field in fields),
        _status(result, failures),
        failures.get(result.name, ''),
      ]
      for result in results
    ),
  ]


def _status(result: run_reader.Run, failures: Mapping[str, str]) -> str:
  if result.is_finished and result.name not in failures:
    return 'done'
  return 'failed' if result.name in failures else 'unfinished'


def groups_to_csv(groups: Sequence[sweep_results.Group]) -> bytes:
  """Returns a row a group: mean, deviation, seeds and diverged of its columns.

  The column `best` marks, of groups that differ by learning rates only, the
  one that is best on validation clients; where rates do not vary, the best of
  all, with those that tie with it.

  Args:
    groups: The groups.
  """
  fields = _names(group.fields for group in groups)
  columns = _table_columns(groups)
  if sweep_results.varies_rates(groups):
    best = sweep_results.best_groups(groups)
  else:
    best = [groups[row] for row in _best_rows(groups)]
  head = ['variant', *fields, 'best', 'runs', 'finished']
  for column in columns:
    head += [f'{column} {part}' for part in seed_statistics.Cell._fields]
  rows = []
  for group in groups:
    row = [
      group.variant,
      *(group.fields.get(field, '') for field in fields),
      'yes' if group in best else '',
      len(group.runs),
      len(group.runs) - group.num_missing,
    ]
    for column in columns:
      row += group.cell(column)
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


def to_markdown(title: str, groups: Sequence[sweep_results.Group]) -> str:
  """Returns the table that people read: mean and deviation over seeds.

  Where groups differ by learning rates, the best of them on validation clients
  stand for all; the others are in table.csv.

  Args:
    title: What the sweep is called.
    groups: The groups.
  """
  notes, rows, bold = make_table(groups)
  table = text_table.to_markdown(rows, bold=bold) if rows else NOTHING
  title, *notes = map(plain_text.markdown, [title, *notes])
  return '\n'.join([f'# {title}', '', *notes, '', table]) + '\n'


def to_latex(title: str, groups: Sequence[sweep_results.Group]) -> str:
  """Returns the same table as a tabular; the rest is comments.

  Args:
    title: What the sweep is called.
    groups: The groups.
  """
  notes, rows, bold = make_table(groups)
  comments = map(
    plain_text.line, [title, *notes, r'It needs \usepackage{booktabs}.']
  )
  table = text_table.to_latex(rows, bold=bold) if rows else f'% {NOTHING}'
  return '\n'.join([*(f'% {line}' for line in comments), table]) + '\n'


def make_table(groups: Sequence[sweep_results.Group]) -> SweepTable:
  """Returns the table of all groups, or of those with the best rates."""
  metric = sweep_results.common_metric([r for g in groups for r in g.runs])
  tuned = sweep_results.varies_rates(groups)
  shown = sweep_results.best_groups(groups) if tuned else list(groups)
  fields = _names(group.fields for group in groups)
  columns = _table_columns(groups, metric)
  runs = [run for group in groups for run in group.runs]
  finished = sum(run.is_finished for run in runs)
  notes = [
    f'{finished} of {len(runs)} runs are finished. Numbers are those after the '
    'last round: mean ± sample standard deviation over seeds (number of seeds, '
    'where there are several).'
  ]
  made_up = dict.fromkeys(run.made_up for run in runs if run.made_up)
  if made_up:
    notes.append(f'The data are made up: {", ".join(made_up)}.')
  if not shown:
    return SweepTable(notes, [], [])
  if tuned:
    decide = dict.fromkeys(group.validation_column(metric) for group in shown)
    notes.append(
      f'Of the learning rates, those that were best by {" or ".join(decide)} are '
      'shown; test clients had no part in the choice. table.csv has all.'
    )
    notes += _tell_without_best(groups, shown)
  head = ['variant', *fields, *columns]
  rows = [
    [
      group.variant,
      *(_format(group.fields.get(field, '')) for field in fields),
      *(
        seed_statistics.format_cell(group.cell(column), group.num_missing)
        for column in columns
      ),
    ]
    for group in shown
  ]
  bold = [
    (row + 1, head.index(shown[row].validation_column(metric)))
    for row in _best_rows(shown)
  ]
  if bold:
    notes.append('The best of all on validation clients is bold.')
  return SweepTable(notes, [head, *rows], bold)


def _tell_without_best(
  groups: Sequence[sweep_results.Group], shown: Sequence[sweep_results.Group]
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


def _best_rows(groups: Sequence[sweep_results.Group]) -> list[int]:
  """Returns which groups are best on validation clients: one, or ties."""
  values = [group.validation() for group in groups]
  finite = [i for i, value in enumerate(values) if not math.isnan(value)]
  # What is not measured alike does not compare.
  columns = {groups[i].validation_column() for i in finite}
  if len(finite) < 2 or len(columns) > 1:
    return []
  runs = [run for group in groups for run in group.runs]
  higher_is_better = sweep_results.best_is_highest(runs)
  return [
    i
    for i in finite
    if not any(
      ranking.is_better(values[j], values[i], higher_is_better=higher_is_better)
      for j in finite
    )
  ]


def _table_columns(
  groups: Sequence[sweep_results.Group], metric: str | None = None
) -> list[str]:
  """Returns the columns of held-out clients and barriers, of all metrics or one.

  Counts are left out.
  """
  columns = _names(run.values for group in groups for run in group.runs)
  return [
    column
    for kind in _KINDS
    for column in columns
    if column.partition('/')[0] == kind
    and not column.endswith('/num_clients')
    and not metric_names.is_count(column)
    and (metric is None or column.rpartition('/')[2] in _shown(metric))
  ]


def _shown(metric: str) -> tuple[str, str]:
  """Returns the metric and its mean over the tenth of clients with the worst."""
  return metric, f'{metric}_worst_tenth'


def _format(value: Any) -> str:
  return f'{value:g}' if isinstance(value, float) else str(value)


def _names(mappings) -> list[str]:
  return list(dict.fromkeys(name for mapping in mappings for name in mapping))
