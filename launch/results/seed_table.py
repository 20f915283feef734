# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables for people of statistics over seeds."""

from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import math
import statistics
from typing import Any
from typing import NamedTuple

from launch.results import method_comparison
from launch.results import method_labels
from launch.results import text_table

import pandas as pd


class Cell(NamedTuple):
  """Statistics of a column over seeds.

  Attributes:
    mean: The mean over the seeds with finite values; NaN without one.
    deviation: The sample standard deviation; NaN for fewer than two values.
    seeds: The number of seeds with finite values.
    diverged: The number of seeds with infinite values.
  """

  mean: float
  deviation: float
  seeds: int
  diverged: int


def over_seeds(values: Iterable[float]) -> Cell:
  """Returns the statistics of one value per seed; NaN is left out."""
  values = [float(value) for value in values if not math.isnan(value)]
  finite = [value for value in values if math.isfinite(value)]
  return Cell(
    mean=statistics.fmean(finite) if finite else math.nan,
    deviation=statistics.stdev(finite) if len(finite) > 1 else math.nan,
    seeds=len(finite),
    diverged=len(values) - len(finite),
  )


class Row(NamedTuple):
  """A row of a table.

  Attributes:
    told: The cells at the left, such as the method.
    values: The values by column and by seed; infinite ones have diverged.
    missing: The number of runs that are not finished.
  """

  told: Sequence[str]
  values: Mapping[Hashable, pd.Series]
  missing: int = 0


def make_table(
  told: Sequence[str],
  titles: Mapping[Hashable, str],
  rows: Sequence[Row],
  directions: Mapping[Hashable, Mapping[str, Any]],
) -> text_table.Table:
  """Returns a table of means and deviations, with the number of seeds in a note.

  A cell tells its seeds if they are not as many as those of most cells. The
  best cell of a column is bold if it stands out; see
  `method_comparison.stands_out`.

  Args:
    told: The heads of the columns at the left.
    titles: The heads of the columns of values.
    rows: The rows.
    directions: The arguments of `method_comparison.stands_out`, for columns in
      which the best is bold.
  """
  cells = [
    {key: over_seeds(row.values.get(key, ())) for key in titles} for row in rows
  ]
  counts = [cell.seeds for of in cells for cell in of.values() if cell.seeds]
  usual = statistics.mode(counts or [0])
  lines = [[*told, *titles.values()]]
  for row, of in zip(rows, cells):
    texts = (_format(cell, usual, row.missing) for cell in of.values())
    lines.append([*row.told, *texts])
  bold = []
  for j, key in enumerate(titles):
    found = {
      i: row.values[key] for i, row in enumerate(rows) if key in row.values
    }
    if key in directions:
      best = method_comparison.stands_out(found, **directions[key])
      bold += [(best + 1, len(told) + j)] if best is not None else []
  spread = 'mean ± sample standard deviation over ' if usual > 1 else 'of '
  seeds = method_labels.count(usual, 'seed')
  note = f'Numbers are {spread}{seeds}, unless a cell tells another number.'
  return text_table.Table([note, method_comparison.BEYOND_NOISE], lines, bold)


def _format(cell: Cell, usual: int, missing: int) -> str:
  """Returns '0.5000 ± 0.1000 (3 seeds), diverged: 1 of 4', or ''."""
  parts = []
  if cell.seeds:
    spread = f' ± {cell.deviation:.4f}' if cell.seeds > 1 else ''
    seeds = f' ({method_labels.count(cell.seeds, "seed")})'
    parts.append(f'{cell.mean:.4f}{spread}{seeds * (cell.seeds != usual)}')
  if cell.diverged:
    parts.append(f'diverged: {cell.diverged} of {cell.seeds + cell.diverged}')
  if missing:
    parts.append(f'missing: {missing}')
  return ', '.join(parts)
