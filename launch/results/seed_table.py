# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Statistics over seeds, and tables of them for people."""

from collections.abc import Mapping
from collections.abc import Sequence
import math
from typing import Any

from fedfish_tff import errors
from fedfish_tff.evaluation import paired_comparison
from launch.results import method_comparison
from launch.results import text_table

import numpy as np
import pandas as pd

# The share of a number below which a deviation is rounding.
_ROUNDING = 1e-6
# The number from which on the digits before the point say little.
_LARGE = 1e15
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
  directions: Mapping[Key, Mapping[str, Mapping[str, Any]]],
  runs: pd.DataFrame,
) -> text_table.Table:
  """Returns a table of means and deviations, with the number of seeds in a note.

  A cell tells its seeds if they are not as many as those of most cells. The
  best cell of a column is bold if it stands out from those of its task by
  `method_comparison.stand_out`, of those that are results of their methods.

  Args:
    told: The columns at the left, such as the method, by row.
    titles: The heads of the columns of values.
    values: The values by row, column, rounds and seed; infinite ones have
      diverged.
    directions: The arguments of `method_comparison.stand_out` by family, for
      columns of scores. Costs, which have none, are never bold.
    runs: The runs, with their row as `group`, their `task`, as `family` what
      runs share that compare, and `global_model`.
  """
  row, *key = values.index.names[:3]
  cells = over_seeds(values, [row, *key])
  counts = cells['seeds'][cells['seeds'] > 0].value_counts()
  usual = max(counts.index, key=lambda n: (counts[n], n), default=0)
  by_row = dict(iter(runs.groupby('group')))
  ends = runs.set_index(['group', 'seed']).reindex(columns=['diverged_round'])
  lost = values.index[np.isinf(values)]
  rounds: dict[tuple, list[float]] = {}
  for *cell, seed in lost:
    rounds.setdefault(tuple(cell), []).append(
      ends['diverged_round'].get((cell[0], seed), math.nan)
    )
  texts = {
    of.Index: _format(
      of, usual, rounds.get(of.Index, []), of.Index[1:] in directions
    )
    for of in cells.itertuples()
  }
  there = set(values.index)
  lines = [[*told, *titles.values()]]
  for index, first in told.iterrows():
    waiting = by_row[index].loc[lambda of: ~of['is_finished'].astype(bool)]
    parts = []
    for of in titles:
      left = [s for s in waiting['seed'] if (index, *of, s) not in there]
      told_left = f'missing: {len(left)}' if left else ''
      parts.append((texts.get((index, *of), ''), told_left))
    lines.append([*first, *(', '.join(filter(None, p)) for p in parts)])
  bold, notes = _find_bold(told, titles, values, directions, runs)
  spread = 'mean ± sample standard deviation over ' if usual > 1 else 'of '
  seeds = text_table.count(usual, 'seed')
  if usual:
    note = f'Numbers are {spread}{seeds}, unless a cell tells another number.'
    notes = [note, *notes]
  return text_table.Table(notes, lines, bold, len(told.columns))


def name_rows(told: pd.DataFrame) -> dict[int, str]:
  """Returns the columns at the left of a table as a name for each row."""
  return {
    index: ', '.join(filter(None, map(str, first)))
    for index, first in told.iterrows()
  }


def _find_bold(
  told: pd.DataFrame,
  titles: Mapping[Key, str],
  values: pd.Series,
  directions: Mapping[Key, Mapping[str, Mapping[str, Any]]],
  runs: pd.DataFrame,
) -> tuple[list[tuple[int, int]], list[str]]:
  """Returns the cells that stand out, and sentences on bold."""
  names = name_rows(told)
  firsts = runs.drop_duplicates('group').set_index('group').loc[told.index]
  families = [
    (family, of['task'].iloc[0], list(of.index))
    for family, of in firsts.groupby('family', sort=False)
    if len(of) > 1
  ]
  several = firsts['family'].nunique() > 1
  by_cell = {
    key: of.droplevel([0, 1, 2])
    for key, of in values.groupby(level=[0, 1, 2], sort=False)
  }
  # A cell without a value.
  empty = values[:0].droplevel([0, 1, 2])
  bold, few, apart, could, num_columns = [], {}, [], False, 0
  for column, (of, head) in enumerate(titles.items(), len(told.columns)):
    for family, task, every in families if of in directions else ():
      rows = [
        i for i in every if method_comparison.is_result(firsts.loc[i], of[0])
      ]
      if len(rows) < 2:
        continue
      where = f'{head} of {task}' if several else head
      by_seed = {i: by_cell.get((i, *of), empty) for i in rows}
      # Such as the metric of another task.
      if all(values.empty for values in by_seed.values()):
        continue
      num_columns += 1
      found = method_comparison.stand_out(by_seed, **directions[of][family])
      if found.best is not None:
        bold.append((1 + told.index.get_loc(found.best), column))
      if found.unpaired:
        apart.append(f'{where} ({", ".join(names[i] for i in found.unpaired)})')
      elif found.has_too_few:
        few.setdefault((len(found.seeds), min(found.seeds)), []).append(where)
      else:
        could |= bool(found.seeds)
  notes = [method_comparison.BOLD] * could
  notes += ['Here, nothing is bold.'] * (could and not bold)
  for (others, seeds), heads in few.items():
    where = '' if len(heads) == num_columns else f' in {"; ".join(heads)}'
    needed = paired_comparison.fewest_pairs(others)
    notes.append(
      f'Of {others + 1} methods, bold takes {needed} common seeds, and there '
      f'{text_table.be(seeds)} {seeds}: nothing is bold{where}.'
    )
  if apart:
    notes.append(
      'Nothing is bold where methods have no value, or no seed in common with '
      f'the best: {"; ".join(apart)}.'
    )
  return bold, notes


def _format(
  cell: Any, usual: int, diverged: Sequence[float], is_score: bool
) -> str:
  """Returns '0.50 ± 0.10 (3 seeds), diverged in round 3 (1 of 4)', or ''.

  Args:
    cell: The row of `over_seeds`.
    usual: The number of seeds that is not told.
    diverged: The rounds in which the seeds without a finite value diverged,
      missing where that is not known.
    is_score: Whether the number is a score.
  """
  parts = []
  if cell.seeds:
    text = format_number(cell.mean, cell.deviation, is_score=is_score)
    seeds = f' ({text_table.count(cell.seeds, "seed")})'
    parts.append(text + seeds * (cell.seeds != usual))
  if cell.diverged:
    rounds = [number for number in diverged if pd.notna(number)]
    when = f' in round {errors.span(rounds)}' if rounds else ''
    whole = cell.seeds + cell.diverged
    parts.append(f'diverged{when} ({cell.diverged} of {whole})')
  return ', '.join(parts)


def format_number(
  mean: float, deviation: float = math.nan, *, is_score: bool = True
) -> str:
  """Returns a number with as many digits as its deviation allows.

  Args:
    mean: The number to write, such as a mean over seeds.
    deviation: Its standard deviation, with two significant digits; one below
      the rounding of the number is that of a constant, and left out.
    is_score: Whether a number without a deviation has four significant digits,
      zeros at its end too.

  Returns:
    `'0.953 ± 0.043'`, `'0.3180'`, or, for a cost, `'0.318'` and `'1250'`.
  """
  if abs(mean) >= _LARGE:
    told = f' ± {deviation:.2g}' * (deviation > _ROUNDING * abs(mean))
    return f'{mean:.4g}{told}'
  if deviation > _ROUNDING * abs(mean):
    # Rounded first: 0.0996 is 0.10.
    places = 1 - math.floor(math.log10(float(f'{deviation:.1e}')))
    shown = (
      _fixed(round(x, places), max(places, 0)) for x in (mean, deviation)
    )
    return ' ± '.join(shown)
  if float(f'{abs(mean):.4g}') >= 1e3:
    return _fixed(mean, 0)
  # Not -0.
  return f'{mean + 0.0:#.4g}' if is_score else f'{mean + 0.0:.4g}'


def _fixed(number: float, places: int) -> str:
  """Returns a number with so many digits after its point."""
  separator = ',' if abs(number) >= 1e6 else ''
  return f'{number + 0.0:{separator}.{places}f}'
