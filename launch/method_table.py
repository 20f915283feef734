# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""One row a method: what its runs reached, mean and deviation over seeds."""

from collections.abc import Mapping
from collections.abc import Sequence
import csv
import io
from typing import NamedTuple

from launch import method_comparison
from launch.plotting import run_reader

import numpy as np

Groups = Mapping[str, Sequence[run_reader.Run]]


class Cell(NamedTuple):
  """A column of metrics.csv for one method.

  Attributes:
    mean: Over seeds.
    deviation: Sample standard deviation over seeds; NaN for one seed.
    seeds: How many runs have the column.
  """

  mean: float
  deviation: float
  seeds: int


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
        value for run in runs if (value := _value(run, column, which)) == value
      ]
      if values:
        deviation = np.std(values, ddof=1) if len(values) > 1 else np.nan
        rows[label][column, which] = Cell(
          float(np.mean(values)), float(deviation), len(values)
        )
  return rows


def _value(run: run_reader.Run, column: str, which: str) -> float:
  """Returns the run's value, NaN if it has none."""
  rounds, _, values = run.series('round', column)
  kept = rounds == rounds.max(initial=0)
  if which == method_comparison.ALL_ROUNDS:
    kept = rounds > 0
  return float(values[kept].mean()) if kept.any() else np.nan


def format_table(rows: Mapping[str, Mapping[tuple[str, str], Cell]]) -> str:
  """Returns the rows as text: a line a column, methods side by side."""
  keys = list(dict.fromkeys(key for cells in rows.values() for key in cells))
  lines = [('metric', 'of', *rows)]
  for key in keys:
    cells = [
      _format_cell(row[key]) if key in row else '' for row in rows.values()
    ]
    lines.append((*key, *cells))
  widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
  return '\n'.join(
    '  '.join(c.ljust(w) for c, w in zip(line, widths)).rstrip()
    for line in lines
  )


def _format_cell(cell: Cell) -> str:
  if cell.seeds == 1:
    return f'{cell.mean:.4f}'
  return f'{cell.mean:.4f} ± {cell.deviation:.4f} ({cell.seeds} seeds)'


def to_csv(rows: Mapping[str, Mapping[tuple[str, str], Cell]]) -> bytes:
  """Returns the rows as a CSV file, a line a method and column."""
  text = io.StringIO()
  writer = csv.writer(text, lineterminator='\n')
  writer.writerow(['method', 'metric', 'rounds', *Cell._fields])
  for label, cells in rows.items():
    for key, cell in cells.items():
      # NaN: empty.
      writer.writerow([label, *key, *('' if v != v else v for v in cell)])
  return text.getvalue().encode()
