# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables of the comparison, from its raw tables."""

import functools
import math

from fedfish_tff import errors
from fedfish_tff import evaluation
from launch.results import text_table
from research.equal_terms import ranks

import pandas as pd

CONTROL = 'FedAvg'
SECTION = ['question', 'task']
_COSTS = ('round', 'bytes', 'steps', 'seconds')
_NOISE = 1e-9


def blocks(runs: pd.DataFrame, by: str = 'method') -> pd.DataFrame:
  """Returns the scores of runs, a row per task and seed, a column per method.

  Methods that lack a block are left out: ranks need all of them.

  Args:
    runs: The rows of equal_terms_runs.csv of one question. A run that has
      diverged has no score, and stays as NaN.
    by: The column that tells methods apart. Titles have tuned values, which
      differ between tasks; variants have none.
  """
  keys = [*SECTION[1:], 'seed']
  scores = runs.pivot(index=keys, columns=by, values='score')
  has_run = runs.assign(there=1).pivot(index=keys, columns=by, values='there')
  return scores[has_run.columns[has_run.notna().all()]]


def describe(
  runs: pd.DataFrame, rounds: pd.DataFrame
) -> tuple[pd.DataFrame, ranks.RankTest, float]:
  """Returns a row for each method of a section, the rank test and the target.

  Args:
    runs: The rows of equal_terms_runs.csv of one task and question.
    rounds: Those of equal_terms_rounds.csv.

  Returns:
    The rows by method, the best mean rank first: `mean`, `low`, `high`,
    `diverged`, the number of seeds; `difference` from FedAvg, paired by seed,
    `difference_low`, `difference_high`, `n`, the number of seeds in which both
    have a score; `rank`, `z`, `p_holm`; the means of
    other columns of `runs`; and `to_<cost>`, the cost until the target. Then
    the test of ranks and the target.

  Raises:
    errors.InputError: If a method lacks a seed, or FedAvg is not among them.
  """
  scores = blocks(runs)
  lacking = set(runs['method']) - set(scores)
  if lacking:
    raise errors.InputError(
      f'All methods must have the same seeds, which {sorted(lacking)} lack.'
    )
  errors.check_member('The baseline', CONTROL, scores.columns)
  test = ranks.rank(scores)
  found = {}
  for method in test.ranks.index:
    values = scores[method].to_dict()
    level = evaluation.compare_paired(
      values, dict.fromkeys(values, 0.0), higher_is_better=True
    )
    gain = evaluation.compare_paired(
      values, scores[CONTROL].to_dict(), higher_is_better=True
    )
    found[method] = {
      'mean': level.mean,
      'low': level.low,
      'high': level.high,
      'diverged': int(scores[method].isna().sum()),
      'difference': gain.mean,
      'difference_low': gain.low,
      'difference_high': gain.high,
      'n': gain.n,
      'rank': test.ranks[method],
    }
  table = pd.DataFrame(found).T
  table = table.join(ranks.compare_with(test, CONTROL)[['z', 'p_holm']])
  others = ['worst_tenth', 'client_std', 'new_clients', 'one_model']
  means = runs.groupby('method')[[*others, *_COSTS[1:]]].mean()
  settings = runs.groupby('method')['settings'].first()
  target = find_target(rounds)
  reached = rounds.groupby('method').apply(
    functools.partial(cost_until, target), include_groups=False
  )
  return table.join(means).join(settings).join(reached), test, target


def mean_curve(rounds: pd.DataFrame) -> pd.DataFrame:
  """Returns a method's means over seeds by round; NaN if a seed lacks one."""
  by_seed = rounds.set_index(['round', 'seed'])[['score', *_COSTS[1:]]]
  of_seeds = by_seed.unstack('seed')
  return pd.DataFrame(
    {name: of_seeds[name].mean(axis=1, skipna=False) for name in by_seed}
  )


def find_target(rounds: pd.DataFrame) -> float:
  """Returns the highest score that all methods but the worst reach.

  Args:
    rounds: The rows of equal_terms_rounds.csv of one task and question. Means
      over seeds count.
  """
  bests = rounds.groupby('method').apply(
    lambda of: mean_curve(of)['score'].max(), include_groups=False
  )
  return float(
    bests.fillna(-math.inf).sort_values().iloc[1 if len(bests) > 1 else 0]
  )


def cost_until(target: float, rounds: pd.DataFrame) -> pd.Series:
  """Returns the costs until the mean score over seeds reaches a target.

  Args:
    target: The target.
    rounds: The rows of one method.

  Returns:
    `to_round`, `to_bytes` and so on; NaN if the method never reaches it.
  """
  curve = mean_curve(rounds).reset_index()
  reached = curve[curve['score'] >= target - _NOISE]
  row = reached.iloc[0] if len(reached) else pd.Series(dtype=float)
  return row.reindex(_COSTS).astype(float).add_prefix('to_')


def verdict(row: pd.Series) -> str:
  """Returns the word for a method beside FedAvg."""
  if math.isnan(row['p_holm']):
    return 'baseline'
  if row['p_holm'] >= evaluation.ALPHA:
    return 'undecided'
  # As p, the word is that of ranks.
  return 'better' if row['z'] > 0 else 'worse'


def format_section(
  table: pd.DataFrame, test: ranks.RankTest, target: float, *, title: str
) -> str:
  """Returns the page of a task and question in Markdown.

  Args:
    table: The rows of `describe`.
    test: The test of ranks.
    target: The target of the costs.
    title: The title.
  """
  scores = [
    ('Method', 'Accuracy', f'Minus {CONTROL}', 'Rank', 'p', 'Verdict')
    + ('Worst tenth', 'Deviation over clients')
  ]
  costs = [
    ('Method', 'Tuned', 'MB', 'Steps', 'Seconds')
    + tuple(f'{what} to {target:.3f}' for what in ('Rounds', 'MB', 'Seconds'))
  ]
  for method, row in table.iterrows():
    diverged = int(row['diverged'])
    is_control = method == CONTROL
    scores.append(
      (
        method,
        _interval(row[['mean', 'low', 'high']], '.3f')
        + (f', {diverged} diverged' if diverged else ''),
        '' if is_control else _difference(row, test.num_blocks),
        f'{row["rank"]:.2f}',
        '' if is_control else f'{row["p_holm"]:.2g}',
        verdict(row),
        f'{row["worst_tenth"]:.3f}',
        f'{row["client_std"]:.3f}',
      )
    )
    reached = [row[f'to_{name}'] for name in ('round', 'bytes', 'seconds')]
    costs.append(
      (
        method,
        row['settings'],
        *_numbers(row['bytes'] / 1e6, row['steps'], row['seconds']),
        *_numbers(reached[0], reached[1] / 1e6, reached[2]),
      )
    )
  judged = (
    f'{text_table.count(test.num_blocks, "seed")}. Friedman: F = {test.f:.3g}, '
    f'p = {test.p:.2g}; critical difference of ranks '
    f'{test.critical_difference:.2f}. Brackets are 95 % intervals; p is that of '
    f"the rank against {CONTROL}'s, after Holm.",
  )
  paid = (
    'Means over seeds. The target is the highest accuracy that all but one '
    'method reach.',
  )
  return '\n'.join(
    text_table.to_markdown(name, text_table.Table(notes, rows, (), num_left))
    for name, notes, rows, num_left in (
      (title, judged, scores, 1),
      (f'{title}: costs', paid, costs, 2),
    )
  )


def _difference(row: pd.Series, num_seeds: int) -> str:
  """Returns the difference from FedAvg, with its seeds if some lack a score."""
  told = _interval(row.filter(like='difference'), '+.3f')
  some = '' if row['n'] == num_seeds else f', {row["n"]:.0f} of {num_seeds}'
  return told + some


def _interval(values: pd.Series, form: str) -> str:
  """Returns a mean with the ends of its interval, if it has one."""
  mean, low, high = values
  if math.isnan(mean):
    return 'diverged'
  ends = f' ({low:{form}} to {high:{form}})'
  return f'{mean:{form}}{"" if math.isnan(low) else ends}'


def _numbers(*values: float) -> list[str]:
  """Returns numbers with three digits or as integers."""
  return [
    'never' if math.isnan(v) else f'{v:.3g}' if v < 1e3 else f'{v:.0f}'
    for v in values
  ]
