# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""One row a method: what its runs reached, mean and deviation over seeds."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import NamedTuple

from launch.results import method_comparison
from launch.results import run_reader
from launch.results import text_table

import numpy as np

Groups = Mapping[str, Sequence[run_reader.Run]]


class Cell(NamedTuple):
  """A column of metrics.csv for one method.

  Attributes:
    mean: Over seeds; NaN where all runs have diverged.
    deviation: Sample standard deviation over seeds; NaN for one seed.
    seeds: How many runs have finite values, so are in the mean.
    diverged: How many runs have a value that is not finite.
  """

  mean: float
  deviation: float
  seeds: int
  diverged: int


def method_rows(
  groups: Groups, metric: str
) -> dict[str, dict[tuple[str, str], Cell]]:
  """Returns a method's results by (column, which rounds).

  Args:
    groups: Runs by label, as `run_reader.group_runs` returns them.
    metric: A column of metrics.csv, for example `'eval/global/accuracy'`.

  Returns:
    By label, the cells that its runs have: the metric and its barrier at the
    last round and as the mean of the rounds after the initial model, and the
    metric after personalisation at the last round.
  """
  name = metric.rpartition('/')[2]
  wanted = [
    (metric, method_comparison.LAST_ROUND),
    (metric, method_comparison.ALL_ROUNDS),
    (f'eval/personalized/{name}', method_comparison.LAST_ROUND),
    (f'csb/{name}', method_comparison.LAST_ROUND),
    (f'csb/{name}', method_comparison.ALL_ROUNDS),
  ]
  rows = {}
  for label, runs in groups.items():
    rows[label] = {}
    for column, which in dict.fromkeys(wanted):
      values = [
        value
        for run in runs
        if (value := _value(run, column, which)) is not None
      ]
      if values:
        rows[label][column, which] = _summarize(np.array(values))
  return rows


def _value(run: run_reader.Run, column: str, which: str) -> float | None:
  """Returns the run's value: NaN if it has diverged, None without one."""
  rounds, values = run.recorded(column)
  kept = method_comparison.select_rounds(rounds, which)
  return method_comparison.mean_or_nan(values[kept]) if kept.any() else None


def _summarize(values: np.ndarray) -> Cell:
  finite = values[np.isfinite(values)]
  return Cell(
    mean=float(finite.mean()) if len(finite) else np.nan,
    deviation=float(finite.std(ddof=1)) if len(finite) > 1 else np.nan,
    seeds=len(finite),
    diverged=len(values) - len(finite),
  )


def format_table(rows: Mapping[str, Mapping[tuple[str, str], Cell]]) -> str:
  """Returns the rows as text: a line a column, methods side by side."""
  keys = list(dict.fromkeys(key for cells in rows.values() for key in cells))
  lines = [('metric', 'of', *rows)]
  for key in keys:
    cells = [
      _format_cell(row[key]) if key in row else '' for row in rows.values()
    ]
    lines.append((*key, *cells))
  return text_table.align(lines)


def _format_cell(cell: Cell) -> str:
  parts = []
  if cell.seeds == 1:
    parts.append(f'{cell.mean:.4f}')
  elif cell.seeds:
    parts.append(f'{cell.mean:.4f} ± {cell.deviation:.4f} ({cell.seeds} seeds)')
  if cell.diverged:
    parts.append(f'diverged: {cell.diverged} of {cell.seeds + cell.diverged}')
  return ', '.join(parts)


def to_csv(rows: Mapping[str, Mapping[tuple[str, str], Cell]]) -> bytes:
  """Returns the rows as a CSV file, a line a method and column."""
  return text_table.to_csv(
    ['method', 'metric', 'rounds', *Cell._fields],
    [
      [label, *key, *cell]
      for label, cells in rows.items()
      for key, cell in cells.items()
    ],
  )
