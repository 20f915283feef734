# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables of the results of methods, as mean and deviation over seeds."""

from collections.abc import Mapping

from fedfish_tff.evaluation import metric_names
from fedfish_tff.evaluation import ranking
from launch.results import frames as frames_lib
from launch.results import method_comparison
from launch.results import straggler_lines
from launch.results import text_table

import numpy as np
import pandas as pd

# The last evaluation up to which a run has sent no more than the run with the
# smallest total sends in all its rounds.
EQUAL_BYTES = 'last of equal bytes'
MEGABYTES = 'MB sent, both ways'
_BYTES = 'communication/wire_bytes_total'
_SECONDS = straggler_lines.SECONDS

# For each label, the cells by (column, rounds).
Rows = Mapping[str, Mapping[tuple[str, str], frames_lib.Cell]]


def method_rows(groups: method_comparison.Groups, metric: str) -> Rows:
  """Returns the results of each method by (column, rounds).

  Args:
    groups: The runs by label.
    metric: A column of metrics.csv, for example `'eval/global/accuracy'`.

  Returns:
    For each label, the cells that its runs have: the metric and its barrier at
    the last round and as the mean of the rounds after the initial model, the
    metric after personalisation at the last round, and the megabytes sent; also
    the metric at equal bytes, if methods send different amounts, and the
    simulated seconds: all, and those until the metric has the worst of the
    runs' best values, which every run reaches.
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
      (_SECONDS, last),
    ]
  )
  budget = _common_bytes(groups)
  rows: dict[str, dict[tuple[str, str], frames_lib.Cell]] = {}
  for label, of in groups.items():
    rows[label] = {}
    for column, which in wanted:
      values = _values(of, column, which, budget)
      if len(values):
        rows[label][column, which] = frames_lib.over_seeds(values)
  timed = {label: of.drawn(metric, _SECONDS) for label, of in groups.items()}
  for which, seconds in _seconds_to_common_value(timed, metric).items():
    for label, values in seconds.items():
      rows[label][_SECONDS, which] = frames_lib.over_seeds(values)
  return rows


def _seconds_to_common_value(
  timed: Mapping[str, pd.DataFrame], metric: str
) -> dict[str, dict[str, pd.Series]]:
  """Returns the seconds of each label's runs until a value that all reach.

  Args:
    timed: The metric and the simulated seconds by run and round, by label.
    metric: The metric.

  Returns:
    The seconds by `until <value>` and label; empty without simulated time.
  """
  higher_is_better = metric_names.higher_is_better(metric)
  bests = pd.concat(timed.values())[metric].groupby('run')
  bests = bests.max() if higher_is_better else bests.min()
  if bests.empty:
    return {}
  value = bests.min() if higher_is_better else bests.max()

  def first(rows: pd.DataFrame) -> pd.Series:
    worse = [
      ranking.is_better(value, other, higher_is_better=higher_is_better)
      for other in rows[metric]
    ]
    return rows[_SECONDS][np.invert(worse)].groupby('run').first()

  return {
    f'until {value:.4f}': {
      label: first(rows) for label, rows in timed.items() if len(rows)
    }
  }


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
  values = frames.column(column)
  if which != EQUAL_BYTES:
    return method_comparison.value_by_seed(values, which)
  sent = frames.column(_BYTES).reindex(values.index)
  within = sent <= (-1 if budget is None else budget)
  return values[within].groupby(level=0, sort=False).last()


def format_table(rows: Rows) -> str:
  """Returns the rows as text: a line per column, methods side by side."""
  keys = dict.fromkeys(key for cells in rows.values() for key in cells)
  lines = [('metric', 'of', *rows)]
  for key in keys:
    cells = (
      frames_lib.format_cell(row[key]) if key in row else ''
      for row in rows.values()
    )
    lines.append((*key, *cells))
  return text_table.align(lines)


def to_csv(rows: Rows) -> bytes:
  """Returns the rows as a CSV file with a line per method and column."""
  return text_table.to_csv(
    ['method', 'metric', 'rounds', *frames_lib.Cell._fields],
    [
      [label, *key, *cell]
      for label, cells in rows.items()
      for key, cell in cells.items()
    ],
  )
