# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Statistics over seeds, and tables of them for people."""

from collections.abc import Hashable
from collections.abc import Mapping
from collections.abc import Sequence
import statistics
from typing import Any

from launch.results import method_comparison
from launch.results import method_labels
from launch.results import text_table

import numpy as np
import pandas as pd

# The column of a result and the rounds that it is of.
Key = tuple[str, str]


def over_seeds(
  values: pd.Series, by: Sequence[str] | pd.Series
) -> pd.DataFrame:
  """Returns the statistics of groups of values, one value per seed.

  Args:
    values: The values; infinite ones have diverged, NaN is left out.
    by: The groups, as for `Series.groupby`.

  Returns:
    A row per group: the `mean` over seeds with finite values, NaN without one;
    their sample standard `deviation`, NaN for fewer than two; and the numbers
    of `seeds` with finite values and of those that have `diverged`.
  """
  values = values.astype(float)
  finite = values.where(np.isfinite(values)).groupby(by, sort=False)
  table = finite.agg(mean='mean', deviation='std', seeds='count')
  return table.assign(diverged=np.isinf(values).groupby(by, sort=False).sum())


def make_table(
  told: pd.DataFrame,
  titles: Mapping[Key, str],
  values: pd.Series,
  directions: Mapping[Key, Mapping[str, Any]],
  waiting: Mapping[Hashable, Sequence[int]],
) -> text_table.Table:
  """Returns a table of means and deviations, with the number of seeds in a note.

  A cell tells its seeds if they are not as many as those of most cells. The
  best cell of a column is bold if it stands out; see
  `method_comparison.stands_out`.

  Args:
    told: The columns at the left, such as the method, by row.
    titles: The heads of the columns of values.
    values: The values by row, column, rounds and seed; infinite ones have
      diverged.
    directions: The arguments of `method_comparison.stands_out`, for columns in
      which the best is bold.
    waiting: The seeds of the runs that are not finished, by row; a cell counts
      those without a value as missing.
  """
  row, *key = values.index.names[:3]
  cells = over_seeds(values, [row, *key])
  usual = statistics.mode(cells['seeds'][cells['seeds'] > 0].tolist() or [0])
  texts = {of.Index: _format(of, usual) for of in cells.itertuples()}
  there = set(values.index)
  lines = [[*told, *titles.values()]]
  for index, first in told.iterrows():
    parts = []
    for of in titles:
      left = [s for s in waiting.get(index, ()) if (index, *of, s) not in there]
      told_left = f'missing: {len(left)}' if left else ''
      parts.append((texts.get((index, *of), ''), told_left))
    lines.append([*first, *(', '.join(filter(None, p)) for p in parts)])
  bold = []
  for of, found in values.groupby(key, sort=False):
    if of in directions:
      rows = {
        i: v.droplevel([0, 1, 2]) for i, v in found.groupby(row, sort=False)
      }
      best = method_comparison.stands_out(rows, **directions[of])
      if best is not None:
        column = len(told.columns) + list(titles).index(of)
        bold.append((1 + told.index.get_loc(best), column))
  spread = 'mean ± sample standard deviation over ' if usual > 1 else 'of '
  seeds = method_labels.count(usual, 'seed')
  note = f'Numbers are {spread}{seeds}, unless a cell tells another number.'
  return text_table.Table([note, method_comparison.BEYOND_NOISE], lines, bold)


def _format(cell: Any, usual: int) -> str:
  """Returns '0.5000 ± 0.1000 (3 seeds), diverged: 1 of 4', or ''."""
  parts = []
  if cell.seeds:
    spread = f' ± {cell.deviation:.4f}' if cell.seeds > 1 else ''
    seeds = f' ({method_labels.count(cell.seeds, "seed")})'
    parts.append(f'{cell.mean:.4f}{spread}{seeds * (cell.seeds != usual)}')
  if cell.diverged:
    parts.append(f'diverged: {cell.diverged} of {cell.seeds + cell.diverged}')
  return ', '.join(parts)
