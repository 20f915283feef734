# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""One row a method: what its runs reached, mean and deviation over seeds."""

from collections.abc import Mapping

from launch.results import method_comparison
from launch.results import run_reader
from launch.results import seed_statistics
from launch.results import text_table

import numpy as np

# The last evaluation up to which a run has sent no more than the one that sends
# least does in all its rounds.
EQUAL_BYTES = 'last of equal bytes'
MEGABYTES = 'MB sent, both ways'
_BYTES = 'communication/wire_bytes_total'


def method_rows(
  groups: method_comparison.Groups, metric: str
) -> dict[str, dict[tuple[str, str], seed_statistics.Cell]]:
  """Returns a method's results by (column, which rounds).

  Args:
    groups: Runs by label, as `run_reader.group_runs` returns them.
    metric: A column of metrics.csv, for example `'eval/global/accuracy'`.

  Returns:
    By label, the cells that its runs have: the metric and its barrier at the
    last round and as the mean of the rounds after the initial model, the metric
    after personalisation at the last round, and what was sent; where methods
    send unlike amounts, the metric after as much, too.
  """
  name = metric.rpartition('/')[2]
  wanted = [
    (metric, method_comparison.LAST_ROUND),
    (metric, method_comparison.ALL_ROUNDS),
    (metric, EQUAL_BYTES),
    (f'eval/personalized/{name}', method_comparison.LAST_ROUND),
    (f'csb/{name}', method_comparison.LAST_ROUND),
    (f'csb/{name}', method_comparison.ALL_ROUNDS),
    (MEGABYTES, method_comparison.LAST_ROUND),
  ]
  budget = _common_bytes(groups)
  rows = {}
  for label, runs in groups.items():
    rows[label] = {}
    for column, which in dict.fromkeys(wanted):
      values = [
        value
        for run in runs
        if (value := _value(run, column, which, budget)) is not None
      ]
      if values:
        rows[label][column, which] = seed_statistics.summarize(values)
  return rows


def _common_bytes(groups: method_comparison.Groups) -> float | None:
  """Returns what every run has sent at least; None where all sent as much."""
  runs = [run for group in groups.values() for run in group]
  totals = [run.columns.get(_BYTES, np.full(1, np.nan))[-1] for run in runs]
  least = np.min(totals)  # NaN where one is not known.
  return None if np.allclose(totals, least, equal_nan=True) else least


def _value(
  run: run_reader.Run, column: str, which: str, budget: float | None
) -> float | None:
  """Returns the run's value: NaN if it has diverged, None without one."""
  if column == MEGABYTES:
    return run.columns[_BYTES][-1] / 1e6 if _BYTES in run.columns else None
  rounds, values = run.recorded(column)
  if which != EQUAL_BYTES:
    kept = method_comparison.select_rounds(rounds, which)
  elif budget is None or np.isnan(budget):
    return None
  else:
    within = run.columns['round'][run.columns[_BYTES] <= budget]
    rounds, values = (x[np.isin(rounds, within)] for x in (rounds, values))
    kept = rounds == rounds.max(initial=0)
  return method_comparison.mean_or_nan(values[kept]) if kept.any() else None


def format_table(
  rows: Mapping[str, Mapping[tuple[str, str], seed_statistics.Cell]],
) -> str:
  """Returns the rows as text: a line a column, methods side by side."""
  keys = list(dict.fromkeys(key for cells in rows.values() for key in cells))
  lines = [('metric', 'of', *rows)]
  for key in keys:
    cells = [
      seed_statistics.format_cell(row[key]) if key in row else ''
      for row in rows.values()
    ]
    lines.append((*key, *cells))
  return text_table.align(lines)


def to_csv(
  rows: Mapping[str, Mapping[tuple[str, str], seed_statistics.Cell]],
) -> bytes:
  """Returns the rows as a CSV file, a line a method and column."""
  return text_table.to_csv(
    ['method', 'metric', 'rounds', *seed_statistics.Cell._fields],
    [
      [label, *key, *cell]
      for label, cells in rows.items()
      for key, cell in cells.items()
    ],
  )
