# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The tables of a sweep, with a row per run or per group of seeds.

This is plain Python, without TensorFlow.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import math
from typing import Any

from fedfish_tff.evaluation import metric_names
from fedfish_tff.evaluation import ranking
from launch.results import column_titles
from launch.results import method_comparison
from launch.results import seed_table
from launch.results import sweep_results
from launch.results import text_table

import numpy as np
import pandas as pd

_KINDS = ('validation', 'test', 'csb')
_BYTES = 'total/wire_bytes'
_MEGABYTES = 'total/wire_megabytes'
_HEADS = {_MEGABYTES: 'MB sent'}


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
  told = describe_runs(runs, failures)
  costs = pd.DataFrame(
    [usage.get(name, {}) for name in runs['run']],
    columns=['seconds', 'peak_bytes'],
  ).fillna('')
  numbers = runs[[name for name in runs if '/' in name]]
  # A number that is not there is empty, one that has diverged is NaN.
  numbers = numbers.where(numbers.notna(), '').replace(np.inf, math.nan)
  table = pd.concat(
    [of.reset_index(drop=True) for of in (told, costs, numbers)], axis=1
  )
  return text_table.frame_to_csv(table, keep_nan=True)


def describe_runs(
  runs: pd.DataFrame, failures: Mapping[str, str]
) -> pd.DataFrame:
  """Returns the names, varied fields and status of runs.

  Args:
    runs: The runs of a sweep.
    failures: The reasons why runs have failed, by name.
  """
  status = np.where(runs['is_finished'].astype(bool), 'done', 'unfinished')
  varied = pd.DataFrame(list(runs['varied']), runs.index, dtype=object)
  return pd.concat(
    [runs[['run', 'variant']], varied.where(varied.notna(), '')], axis=1
  ).assign(
    status=np.where(runs['run'].isin(failures), 'failed', status),
    reason=runs['run'].map(failures).fillna(''),
  )


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
  told = pd.DataFrame(
    {
      'variant': table['variant'],
      **{f: table['varied'].map(lambda v, f=f: v.get(f, '')) for f in fields},
      'best': np.where(table.index.isin(best), 'yes', ''),
      'runs': table['runs'],
      'finished': table['finished'],
    }
  )
  parts = [
    seed_table.over_seeds(runs[column], runs['group']).add_prefix(f'{column} ')
    for column in columns
  ]
  return text_table.frame_to_csv(pd.concat([told, *parts], axis=1))


def make_table(runs: pd.DataFrame) -> text_table.Table:
  """Returns the table for people: mean and deviation over seeds.

  If groups differ in learning rates, it only has those that are best on
  validation clients; the others are in table.csv.

  Args:
    runs: The runs of a sweep.
  """
  if _BYTES in runs:
    runs = runs.assign(**{_MEGABYTES: runs[_BYTES] / 1e6})
  table = sweep_results.tabulate(runs)
  tuned = sweep_results.is_tuned(runs)
  shown = table[table['is_best']] if tuned else table
  fields = _names(table['varied'])
  metric = sweep_results.judged(runs).metric
  columns = _table_columns(runs, metric)
  columns += [name for name in runs if name == _MEGABYTES]
  notes = [
    f'{table["finished"].sum()} of {len(runs)} runs are finished. Results are '
    'those after the last round.'
  ]
  synthetic = dict.fromkeys(runs['synthetic'].dropna())
  if synthetic:
    notes.append(f'The data are synthetic: {", ".join(synthetic)}.')
  if shown.empty:
    return text_table.Table(notes, [])
  if tuned:
    decide = map(column_titles.title, dict.fromkeys(shown['column']))
    notes.append(
      f'Of the learning rates, those that were best by {" or ".join(decide)} are '
      'shown; test clients had no part in the choice. table.csv has all.'
    )
    notes += _tell_without_best(table) + sweep_results.tell_edges(table)
  told = {'Method': shown['method']}
  for field, head in zip(fields, _shorten(fields), strict=True):
    told[head] = [_format(varied.get(field, '')) for varied in shown['varied']]
  last = method_comparison.LAST_ROUND
  index = ['group', 'column', 'rounds', 'seed']
  values = runs.melt(['group', 'seed'], columns, 'column').assign(rounds=last)
  values = values.sort_values('group', kind='stable').set_index(index)['value']
  made = seed_table.make_table(
    pd.DataFrame(told),
    {(c, last): _HEADS.get(c) or column_titles.title(c) for c in columns},
    values[values.index.isin(shown.index, 'group')].astype(float).dropna(),
    {
      (c, last): {'higher_is_better': metric_names.higher_is_better(c)}
      for c in columns
      if c not in _HEADS
    },
    shown['runs'] - shown['finished'],
  )
  return made._replace(notes=[*notes, *made.notes])


def _shorten(fields: Sequence[str]) -> list[str]:
  """Returns heads: the last part of each field's name, if parts differ."""
  short = [field.rpartition('.')[2] for field in fields]
  names = [
    (last if short.count(last) == 1 else field).replace('_', ' ')
    for field, last in zip(fields, short)
  ]
  return [name[:1].upper() + name[1:] for name in names]


def _tell_without_best(table: pd.DataFrame) -> list[str]:
  """Returns a line that names the settings without a best group."""
  keys = table['setting'].map(repr)
  absent = table[~keys.isin(keys[table['is_best']])]
  if absent.empty:
    return []
  names = dict.fromkeys(absent['name'])
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
  direction = {'higher_is_better': table['higher_is_better'].iloc[0]}
  best = ranking.select_best(finite['validation'].to_dict(), **direction).best
  values = finite['validation']
  return list(
    values.index[ranking.gains(values, values[best], **direction) >= 0]
  )


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
