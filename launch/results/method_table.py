# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables of the results of methods, as mean and deviation over seeds."""

from collections.abc import Sequence

from fedfish_tff import errors
from fedfish_tff.evaluation import metric_names
from fedfish_tff.evaluation import ranking
from launch.results import column_titles
from launch.results import frames as frames_lib
from launch.results import method_comparison
from launch.results import seed_table
from launch.results import text_table

import numpy as np
import pandas as pd

# The last evaluation up to which a run has sent no more than the run with the
# smallest total sends in all its rounds.
EQUAL_BYTES = 'last of equal bytes'
MEGABYTES = 'MB sent, both ways'
SECONDS = 'simulated/seconds'
_BYTES = 'communication/wire_bytes_total'
# The heads of columns in which no method is the best.
_COSTS = {MEGABYTES: MEGABYTES, SECONDS: 'Simulated seconds'}

_INDEX = ['method', 'metric', 'rounds', 'seed']


def read_values(
  groups: method_comparison.Groups,
  metric: str,
  columns: Sequence[str] | None = None,
) -> pd.Series:
  """Returns the results by method, metric, rounds and seed.

  Args:
    groups: The runs by label.
    metric: A column of metrics.csv, for example `'eval/global/accuracy'`.
    columns: The columns of metrics.csv, at the last round, and the numbers of
      summary.json, such as `'test/global/accuracy'`; None for the usual ones:
      the metric and its barrier at the last round and as the mean of the rounds
      after the initial model, the metric after personalisation at the last
      round, and the megabytes sent; also the metric at equal bytes, if methods
      send different amounts, and the simulated seconds: all, and those until the
      metric has the worst of the runs' best values, which every run reaches.

  Raises:
    errors.InputError: If no run has one of the columns.
  """
  name = metric.rpartition('/')[2]
  last, mean = method_comparison.LAST_ROUND, method_comparison.ALL_ROUNDS
  wanted = dict.fromkeys(
    [
      (metric, last),
      (metric, mean),
      (metric, EQUAL_BYTES),
      (f'eval/personalized/{name}', last),
      (f'csb/{name}', last),
      (f'csb/{name}', mean),
      (MEGABYTES, last),
      (SECONDS, last),
    ]
  )
  if columns is not None:
    wanted = dict.fromkeys((column, last) for column in columns)
  budget = _common_bytes(groups)
  found = {
    (label, *key): values
    for label, of in groups.items()
    for key in wanted
    if len(values := _values(of, *key, budget).dropna())
  }
  for column in columns or ():
    if not any(column == found_column for _, found_column, _ in found):
      known = {
        c: None for of in groups.values() for c in (*of.rounds, *of.runs)
      }
      raise errors.InputError(
        f'--columns must name columns of metrics.csv or numbers of summary.json, '
        f'got {column!r}.{errors.suggest(column, known)}'
      )
  if columns is None:
    found |= _seconds_to_common_value(groups, metric)
  if not found:
    return pd.Series(index=pd.MultiIndex.from_arrays([[]] * 4, names=_INDEX))
  labels = list(groups)
  in_order = sorted(found, key=lambda key: labels.index(key[0]))
  return pd.concat({key: found[key] for key in in_order}, names=_INDEX)


def _seconds_to_common_value(
  groups: method_comparison.Groups, metric: str
) -> dict[tuple[str, str, str], pd.Series]:
  """Returns the seconds until the metric has a value that all runs reach.

  Args:
    groups: The runs by label.
    metric: The metric.

  Returns:
    The seconds by seed, by label, column and `until <value>`; empty without
    simulated time.
  """
  timed = {label: of.drawn(metric, SECONDS) for label, of in groups.items()}
  higher_is_better = metric_names.higher_is_better(metric)
  bests = pd.concat(timed.values())[metric].groupby('run')
  bests = bests.max() if higher_is_better else bests.min()
  if bests.empty:
    return {}
  value = bests.min() if higher_is_better else bests.max()
  found = {}
  for label, rows in timed.items():
    if len(rows):
      worse = [
        ranking.is_better(value, other, higher_is_better=higher_is_better)
        for other in rows[metric]
      ]
      first = rows[SECONDS][np.invert(worse)].groupby('run').first()
      seeds = groups[label].runs['seed']
      found[label, SECONDS, f'until {value:.4f}'] = first.rename(index=seeds)
  return found


def _common_bytes(groups: method_comparison.Groups) -> float | None:
  """Returns the smallest total of bytes; None if all runs sent the same."""
  totals = pd.concat([_sent(of) for of in groups.values()])
  num_runs = sum(len(of.runs) for of in groups.values())
  if len(totals) < num_runs or np.allclose(totals, totals.min()):
    return None
  return totals.min()


def _sent(frames: frames_lib.Frames) -> pd.Series:
  """Returns the bytes that runs of one label have sent, by seed."""
  return frames.column(_BYTES).groupby(level=0, sort=False).last()


def _values(
  frames: frames_lib.Frames, column: str, which: str, budget: float | None
) -> pd.Series:
  """Returns the existing values of the runs of one label, by seed."""
  if column == MEGABYTES:
    return _sent(frames) / 1e6
  if column not in frames.rounds and column in frames.runs:
    return method_comparison.by_seed(frames.runs, column)
  values = frames.column(column)
  if which != EQUAL_BYTES:
    return method_comparison.value_by_seed(values, which)
  sent = frames.column(_BYTES).reindex(values.index)
  within = sent <= (-1 if budget is None else budget)
  return values[within].groupby(level=0, sort=False).last()


def make_table(
  values: pd.Series, groups: method_comparison.Groups
) -> text_table.Table:
  """Returns the table for people: a row per method, a column per result.

  Args:
    values: The result of `read_values`.
    groups: The runs by label.
  """
  keys = dict.fromkeys(
    (metric, rounds) for _, metric, rounds, _ in values.index
  )
  return seed_table.make_table(
    pd.DataFrame({'Method': list(groups)}, index=list(groups)),
    {key: _head(*key) for key in keys},
    values,
    {
      key: method_comparison.direction(groups.values(), key[0])
      for key in keys
      if key[0] not in _COSTS
    },
    missing={},
  )


def _head(column: str, which: str) -> str:
  title = _COSTS.get(column) or column_titles.title(column)
  return title if which == method_comparison.LAST_ROUND else f'{title}, {which}'


def to_csv(values: pd.Series) -> bytes:
  """Returns the results as a CSV file with a line per method and column."""
  table = seed_table.over_seeds(values, _INDEX[:3])
  return text_table.frame_to_csv(table.reset_index())
