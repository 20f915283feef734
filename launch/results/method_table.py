# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables of the results of methods, as mean and deviation over seeds."""

from collections.abc import Sequence
import math

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
  frames: frames_lib.Frames,
  metric: str,
  columns: Sequence[str] | None = None,
) -> pd.Series:
  """Returns the results by method, metric, rounds and seed.

  Args:
    frames: The labelled runs.
    metric: A column of metrics.csv, for example `'eval/global/accuracy'`.
    columns: The columns of metrics.csv, at the last round, and the numbers of
      summary.json, such as `'test/global/accuracy'`; None for the usual ones:
      the metric and its barrier at the last round and as the mean of the rounds
      after the initial model, the metric after personalisation at the last
      round, and the megabytes sent; also the metric at equal bytes, if methods
      send different amounts, and the simulated seconds: all, and those until the
      metric has the worst of the runs' best values, which every run reaches.

  Raises:
    errors.InputError: If there are no columns, or no run has one of them.
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
    if not columns:
      raise errors.InputError('--columns must name one column at least.')
    wanted = dict.fromkeys((column, last) for column in columns)
  budget = _common_bytes(frames)
  found = {key: _values(frames, *key, budget) for key in wanted}
  for column in columns or ():
    if found[column, last].isna().all():
      known = dict.fromkeys([*frames.rounds, *_numbers(frames)])
      raise errors.InputError(
        f'--columns must name columns of metrics.csv or numbers of summary.json, '
        f'got {column!r}.{errors.suggest(column, known)}'
      )
  if columns is None:
    found |= _seconds_to_common_value(frames, metric)
  runs = frames.runs.rename(columns={'label': 'method'})
  keys = pd.MultiIndex.from_tuples(found, names=['metric', 'rounds'])
  table = pd.DataFrame(found, runs.index, keys)
  table.index = pd.MultiIndex.from_frame(runs[['method', 'seed']])
  # By method as given, each with its columns in the order above.
  methods = pd.Index(runs['method'].unique())
  values = table.melt(ignore_index=False).dropna().reset_index()
  values = values.sort_values('method', key=methods.get_indexer, kind='stable')
  return values.set_index(_INDEX)['value']


def _seconds_to_common_value(
  frames: frames_lib.Frames, metric: str
) -> dict[tuple[str, str], pd.Series]:
  """Returns the seconds until the metric has a value that all runs reach.

  Args:
    frames: The runs.
    metric: The metric.

  Returns:
    The seconds by run, by column and `until <value>`; empty without simulated
    time.
  """
  timed = frames.drawn(metric, SECONDS)
  if timed.empty:
    return {}
  higher_is_better = metric_names.higher_is_better(metric)
  bests = timed[metric].groupby('run')
  value = bests.max().min() if higher_is_better else bests.min().max()
  worse = [
    ranking.is_better(value, other, higher_is_better=higher_is_better)
    for other in timed[metric]
  ]
  first = timed[SECONDS][np.invert(worse)].groupby('run').first()
  return {(SECONDS, f'until {value:.4f}'): first}


def _common_bytes(frames: frames_lib.Frames) -> float:
  """Returns the smallest total of bytes; NaN if all runs sent the same."""
  totals = _sent(frames)
  if len(totals) < len(frames.runs) or np.allclose(totals, totals.min()):
    return math.nan
  return totals.min()


def _sent(frames: frames_lib.Frames) -> pd.Series:
  """Returns the bytes that each run has sent, as far as known."""
  sent = frames.rounds.reindex(columns=[_BYTES])[_BYTES].dropna()
  return sent.groupby('run').last()


def _numbers(frames: frames_lib.Frames) -> list[str]:
  """Returns the columns of the frame of runs that are of summary.json."""
  return [name for name in frames.runs if '/' in name]


def _values(
  frames: frames_lib.Frames, column: str, which: str, budget: float
) -> pd.Series:
  """Returns the existing values of a column by run."""
  if column == MEGABYTES:
    return _sent(frames) / 1e6
  if column not in frames.rounds and column in _numbers(frames):
    return frames.runs[column].astype(float)
  values = frames.rounds.reindex(columns=[column])[column].dropna()
  if which != EQUAL_BYTES:
    return method_comparison.value_by_seed(values, which)
  sent = frames.rounds.reindex(columns=[_BYTES])[_BYTES]
  within = sent[values.index] <= budget
  return values[within].groupby('run').last()


def make_table(
  values: pd.Series, frames: frames_lib.Frames
) -> text_table.Table:
  """Returns the table for people: a row per method, a column per result.

  Args:
    values: The result of `read_values`.
    frames: The labelled runs.
  """
  methods = frames.runs['label'].unique()
  keys = dict.fromkeys(
    (metric, rounds) for _, metric, rounds, _ in values.index
  )
  return seed_table.make_table(
    pd.DataFrame({'Method': methods}, index=methods),
    {key: _head(*key) for key in keys},
    values,
    {
      key: method_comparison.direction([frames], key[0])
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
