# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables of the comparison, from its raw tables."""

from collections.abc import Mapping
from collections.abc import Sequence
import functools
import math
import os

from fedfish_tff import errors
from fedfish_tff import evaluation
from launch.results import text_table
from research.equal_terms import budget
from research.equal_terms import ranks

import pandas as pd

CONTROL = 'FedAvg'
SECTION = ['question', 'task']
_COSTS = ('round', 'bytes', 'steps', 'seconds')
_NOISE = 1e-9
# The number of methods beside FedAvg that faster ones are compared with.
_MOST_RIVALS = 3
# The clients of the scores by round, by whether the question is personal.
_SCORED_ROUNDS = {
  False: 'validation clients',
  True: 'own test data of training clients, after fine-tuning',
}


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


def tasks_to_join(runs: pd.DataFrame) -> list[list[str]]:
  """Returns groups of tasks, each the largest with its common methods.

  Tasks join in the order of how many methods have run on them, the most first.
  Tasks that share FedAvg alone are not joined.

  Args:
    runs: The rows of equal_terms_runs.csv of one question.
  """
  methods = runs.groupby('task')['variant'].agg(frozenset)
  methods = methods.sort_values(key=lambda of: -of.map(len), kind='stable')
  groups = {}
  for number in range(2, len(methods) + 1):
    joined = methods.iloc[:number]
    groups[frozenset.intersection(*joined)] = list(joined.index)
  return [tasks for common, tasks in groups.items() if len(common) > 1]


def join_tasks(runs: pd.DataFrame) -> pd.DataFrame:
  """Returns `blocks` of several tasks together, of the methods that all have.

  The name of a method leaves out tuned values that differ between the tasks.

  Args:
    runs: The rows of equal_terms_runs.csv of these tasks and one question.
  """
  titles = runs.groupby('variant')['method'].unique()
  return blocks(runs, by='variant').rename(columns=titles.map(_name))


def _name(titles: Sequence[str]) -> str:
  """Returns the parts that all titles begin with: 'FedCM, mixture of 0.3'."""
  return ', '.join(os.path.commonprefix([t.split(', ') for t in titles]))


def describe(
  runs: pd.DataFrame, rounds: pd.DataFrame
) -> tuple[pd.DataFrame, ranks.RankTest, float]:
  """Returns a row for each method of a section, the rank test and the target.

  Args:
    runs: The rows of equal_terms_runs.csv of one task and question, with FedAvg
      among the methods, and all seeds of each.
    rounds: Those of equal_terms_rounds.csv.

  Returns:
    The rows by method, the best mean rank first: `mean`, `low`, `high`,
    `diverged`, the number of seeds; `difference` from FedAvg, paired by seed,
    `difference_low`, `difference_high`, `n`, the number of seeds in which both
    have a score, `wins` and `p` of its test; `rank`, `z`, `p_holm`; the means
    of other columns of `runs`; and `to_<cost>`, the cost until the target. Then
    the test of ranks and the target.
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
      'wins': gain.wins,
      'p': gain.p,
      'rank': test.ranks[method],
    }
  table = pd.DataFrame(found).T
  table = table.join(ranks.compare_with(test, CONTROL)[['z', 'p_holm']])
  others = ['worst_tenth', 'client_std', 'new_clients', 'one_model']
  means = runs.groupby('method')[[*others, *_COSTS[1:]]].mean()
  # What has nothing tuned has NaN in a table that was read.
  settings = runs.groupby('method')['settings'].first().astype(object)
  target = find_target(rounds)
  reached = rounds.groupby('method').apply(
    functools.partial(cost_until, target), include_groups=False
  )
  table = table.join(means).join(settings.fillna('')).join(reached)
  return table, test, target


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
    rounds: The rows of equal_terms_rounds.csv of one task and question, of two
      methods or more. Means over seeds count.
  """
  bests = rounds.groupby('method').apply(
    lambda of: mean_curve(of)['score'].max(), include_groups=False
  )
  return float(bests.fillna(-math.inf).sort_values().iloc[1])


def cost_until(target: float, rounds: pd.DataFrame) -> pd.Series:
  """Returns the costs until the mean score over seeds reaches a target.

  Args:
    target: The mean score to be reached.
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


def find_leads(
  rounds: pd.DataFrame,
) -> dict[str, dict[int, evaluation.PairedComparison]]:
  """Returns differences from FedAvg by evaluated round, for each method.

  Methods whose rounds are others than FedAvg's are left out, such as
  asynchronous ones, whose rounds have fewer answers.

  Args:
    rounds: The rows of equal_terms_rounds.csv of one task and question.
  """
  trained = rounds[rounds['round'] > 0]
  # A run that diverges has no more evaluations.
  seeds = trained['seed'].unique()
  curves = {
    method: of.pivot(index='round', columns='seed', values='score').reindex(
      columns=seeds
    )
    for method, of in trained.groupby('method', sort=False)
  }
  control = curves[CONTROL]
  return {
    method: {
      number: evaluation.compare_paired(
        curve.loc[number].to_dict(),
        control.loc[number].to_dict(),
        higher_is_better=True,
      )
      for number in control.index
    }
    for method, curve in curves.items()
    if method != CONTROL and curve.index.equals(control.index)
  }


def find_time_leads(
  table: pd.DataFrame, rounds: pd.DataFrame
) -> dict[str, dict[str, evaluation.PairedComparison]]:
  """Returns differences from other methods at the ends of faster ones.

  Faster methods are those whose runs take less simulated time than FedAvg's. In
  each seed, the last score of one is compared with that of another method's
  first evaluation at that time or later, which favours the other.

  Args:
    table: The rows of `describe`.
    rounds: The rows of equal_terms_rounds.csv of one task and question.

  Returns:
    For each faster method, the comparisons with FedAvg and with the others of
    the best mean ranks. A run that has diverged before its score is a missing
    pair.
  """
  ordered, seeds = rounds.sort_values('round'), rounds['seed'].unique()
  of_methods = {method: of for method, of in ordered.groupby('method')}
  is_faster = table['seconds'] < table['seconds'][CONTROL]
  others = table.index[~is_faster].drop(CONTROL)[:_MOST_RIVALS]

  def compare(last: pd.DataFrame, other: str) -> evaluation.PairedComparison:
    of = of_methods[other]
    later = of[of['seconds'] >= of['seed'].map(last['seconds'])]
    return evaluation.compare_paired(
      last['score'].to_dict(),
      later.groupby('seed')['score'].first().reindex(seeds).to_dict(),
      higher_is_better=True,
    )

  found = {}
  for method in table.index[is_faster]:
    of = of_methods[method]
    # A run that diverges has no score, or no evaluation, at the end.
    last = of[of['round'] == of['round'].max()].set_index('seed')
    last = last.reindex(seeds)
    found[method] = {o: compare(last, o) for o in (CONTROL, *others)}
  return found


def format_section(
  runs: pd.DataFrame, rounds: pd.DataFrame, *, title: str
) -> str:
  """Returns the page of a task and question in Markdown.

  Args:
    runs: The rows of equal_terms_runs.csv of that task and question.
    rounds: Those of equal_terms_rounds.csv.
    title: The heading of the page.
  """
  table, test, target = describe(runs, rounds)
  personal = runs['question'].iloc[0] == budget.QUESTIONS[1]
  leads = find_leads(rounds)
  fine_tuning = _tell_fine_tuning(runs) if personal else ''
  parts = {
    title: _format_scores(table, test, fine_tuning, personal=personal),
    f'{title}: costs': _format_costs(table, target, personal=personal),
    f'{title}: ranks': _format_ranks(test),
  }
  if leads:
    parts[f'{title}: leads by round'] = _format_leads(
      leads, table.index, personal=personal
    )
  if faster := find_time_leads(table, rounds):
    parts[f'{title}: leads by time'] = _format_time_leads(
      faster, table['seconds'], personal=personal
    )
  parts[f'{title}: seeds'] = _format_seeds(blocks(runs)[table.index])
  return '\n'.join(
    text_table.to_markdown(name, part) for name, part in parts.items()
  )


def _format_scores(
  table: pd.DataFrame,
  test: ranks.RankTest,
  fine_tuning: str,
  *,
  personal: bool,
) -> text_table.Table:
  """Returns the table of accuracies, differences and ranks."""
  rows = [
    ('Method', 'Accuracy', f'Minus {CONTROL}', 'Better in', 'p')
    + ('Rank', 'p of rank', 'Verdict', 'Worst tenth', 'Deviation over clients')
    + ('New clients',) * personal
  ]
  for method, row in table.iterrows():
    diverged = int(row['diverged'])
    compared = (
      _difference(row, test.num_blocks),
      f'{row["wins"]:.0f} of {row["n"]:.0f}',
      evaluation.format_p(row['p']),
    )
    is_control = method == CONTROL
    more = ['worst_tenth', 'client_std', *['new_clients'] * personal]
    rows.append(
      (
        method,
        _interval(row[['mean', 'low', 'high']], '.3f')
        + (f', {diverged} diverged' if diverged else ''),
        *(('', '', '') if is_control else compared),
        f'{row["rank"]:.2f}',
        '' if is_control else evaluation.format_p(row['p_holm']),
        verdict(row),
        *(f'{row[name]:.3f}' for name in more),
      )
    )
  scored = (
    "clients' models after fine-tuning, on own test data of training clients; "
    'new clients are test clients, which have never trained'
    if personal
    else "the server's model, on test clients"
  )
  notes = (
    f'Accuracy of {scored}. Means over '
    f'{text_table.count(test.num_blocks, "seed")}; brackets are 95 % '
    f'intervals. p is that of the mean difference from {CONTROL} over flips of '
    'signs, not corrected for the number of methods; p of rank is that of the '
    f"mean rank against {CONTROL}'s, after Holm, and gives the verdict. "
    f'{ranks.tell_friedman(test)}. The worst tenth is the '
    'mean of the tenth of clients with the lowest accuracies.'
    + fine_tuning
    + _tell_diverged(table),
  )
  return text_table.Table(notes, rows, (), 1)


def _format_costs(
  table: pd.DataFrame, target: float, *, personal: bool
) -> text_table.Table:
  """Returns the table of costs in total and until the target."""
  rows = [
    ('Method', 'Tuned', 'MB', 'Steps', 'Seconds')
    + tuple(f'{what} to {target:.3f}' for what in ('Rounds', 'MB', 'Seconds'))
  ]
  for method, row in table.iterrows():
    missing = 'never' if math.isnan(row['to_round']) else 'unknown'
    if row['diverged']:
      missing = 'not in all seeds'
    rows.append(
      (
        method,
        row['settings'],
        *_numbers(row['bytes'] / 1e6, row['steps'], row['seconds']),
        *_numbers(
          row['to_round'],
          row['to_bytes'] / 1e6,
          row['to_seconds'],
          missing=missing,
        ),
      )
    )
  notes = (
    'Means over seeds. The target is the highest accuracy that all but one '
    f'method reach on {_SCORED_ROUNDS[personal]}. (edge) marks a value at an '
    'end of its grid.' + _tell_diverged(table),
  )
  return text_table.Table(notes, rows, (), 2)


def _tell_diverged(table: pd.DataFrame) -> str:
  """Returns a sentence about methods whose runs have diverged, or ''."""
  some = table.index[table['diverged'] > 0]
  if some.empty:
    return ''
  return f' Means of {"; ".join(some)} leave out runs that have diverged.'


def _tell_fine_tuning(runs: pd.DataFrame) -> str:
  """Returns a sentence on the candidates for the rate of fine-tuning.

  Args:
    runs: The rows of equal_terms_runs.csv of one task and the question personal.
      All methods that choose the rate must do so among the same candidates.
  """
  # What has none has NaN in a table that was read.
  chosen = runs[~runs['fine_tuning_rates'].fillna('').eq('')]
  by_rates = chosen.drop_duplicates('fine_tuning_rates')
  if len(by_rates) > 1:
    told = '; '.join(
      f'{row.fine_tuning_rates} of {row.method}'
      for row in by_rates.itertuples()
    )
    raise errors.InputError(
      'All methods must choose the rate of fine-tuning among the same values, '
      f'got {told}.'
    )
  if not len(by_rates):
    return ' The rate of fine-tuning is not chosen.'
  others = runs['method'][~runs['method'].isin(chosen['method'])]
  own = ', '.join(others.unique())
  return (
    f' The rate of fine-tuning is that of {chosen["fine_tuning_rates"].iloc[0]} '
    'which is best on validation clients'
    + (f', but for {own}, whose own field it is.' if own else '.')
  )


def _format_ranks(test: ranks.RankTest) -> text_table.Table:
  """Returns the table of ranks that the critical difference tells apart."""
  means = test.ranks
  rows = [('Method', 'Mean rank', 'Better than')]
  for method, mean in means.items():
    worse = means.index[means > mean + test.critical_difference]
    rows.append((method, f'{mean:.2f}', '; '.join(worse) or 'none'))
  notes = (
    f'The critical difference is {test.critical_difference:.2f}, at a level of '
    f'{evaluation.ALPHA:g} for all pairs at once.',
  )
  return text_table.Table(notes, rows)


def format_joined(
  runs: pd.DataFrame, test: ranks.RankTest, *, title: str
) -> str:
  """Returns the page of the ranks over all tasks in Markdown.

  Args:
    runs: The rows of equal_terms_runs.csv of several tasks and one question.
    test: The test of `join_tasks`.
    title: The heading of the page.
  """
  table = ranks.compare_with(test, CONTROL).reindex(test.ranks.index)
  rows = [('Method', 'Mean rank', 'p of rank', 'Verdict')]
  for method, row in table.iterrows():
    p = '' if method == CONTROL else evaluation.format_p(row['p_holm'])
    rows.append((method, f'{test.ranks[method]:.2f}', p, verdict(row)))
  joined = sorted(set(runs['task']))
  of_methods = runs.groupby('variant')
  lacking = of_methods['task'].nunique() < len(joined)
  left_out = sorted(of_methods['method'].first()[lacking])
  notes = [
    f'Ranks within each of {test.num_blocks} seeds of {"; ".join(joined)}. p is '
    f"that of the mean rank against {CONTROL}'s, after Holm. "
    f'{ranks.tell_friedman(test)}. The critical difference is '
    f'{test.critical_difference:.2f}, at a level of {evaluation.ALPHA:g} for '
    'all pairs at once. Names leave out values that differ between the tasks.'
  ]
  if left_out:
    notes.append(f'Not measured on each of these: {"; ".join(left_out)}.')
  return text_table.to_markdown(title, text_table.Table(notes, rows, (), 1))


def _format_leads(
  leads: Mapping[str, Mapping[int, evaluation.PairedComparison]],
  methods: pd.Index,
  *,
  personal: bool,
) -> text_table.Table:
  """Returns the table of differences from FedAvg by round."""
  numbers = list(next(iter(leads.values())))
  rows = [('Method', *(f'Round {number}' for number in numbers))]
  rows += [
    (method, *map(_format_lead, leads[method].values()))
    for method in methods
    if method in leads
  ]
  notes = [
    f'Mean difference from {CONTROL} after a round on '
    f'{_SCORED_ROUNDS[personal]}, the seeds in which the method is better, and '
    'p over flips of signs, not corrected.'
  ]
  others = [m for m in methods if m != CONTROL and m not in leads]
  if others:
    notes.append(f'Without {"; ".join(others)}, whose rounds are others.')
  return text_table.Table(notes, rows, (), 1)


def _format_lead(lead: evaluation.PairedComparison) -> str:
  if not lead.n:
    return 'diverged'
  p = '' if math.isnan(lead.p) else f', p = {evaluation.format_p(lead.p)}'
  return f'{lead.mean:+.3f}, {lead.wins} of {lead.n}{p}'


def _format_time_leads(
  leads: Mapping[str, Mapping[str, evaluation.PairedComparison]],
  seconds: pd.Series,
  *,
  personal: bool,
) -> text_table.Table:
  """Returns the table of differences from others at equal simulated time."""
  others = next(iter(leads.values()))
  rows = [('Method', 'Seconds', *(f'Minus {other}' for other in others))]
  for method, of in leads.items():
    rows.append(
      (method, *_numbers(seconds[method]), *map(_format_lead, of.values()))
    )
  notes = (
    f'Methods that end before {CONTROL}: the last score on '
    f"{_SCORED_ROUNDS[personal]}, minus another method's at its first "
    'evaluation at that time or later, which favours the other; the seeds in '
    'which the method is better, and p over flips of signs, not corrected. The '
    f'others are {CONTROL} and those with the best mean ranks.',
  )
  return text_table.Table(notes, rows, (), 1)


def _format_seeds(scores: pd.DataFrame) -> text_table.Table:
  """Returns the table of the accuracy of each seed, a row per method."""
  seeds = scores.index.get_level_values('seed')
  rows = [('Method', *(f'Seed {seed}' for seed in seeds))]
  for method, of in scores.items():
    rows.append(
      (method, *('diverged' if math.isnan(v) else f'{v:.3f}' for v in of))
    )
  return text_table.Table(('Accuracy of each seed.',), rows, (), 1)


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


def _numbers(*values: float, missing: str = 'unknown') -> list[str]:
  """Returns numbers with three digits or as integers."""
  return [
    missing if math.isnan(v) else f'{v:.3g}' if v < 999.5 else f'{v:.0f}'
    for v in values
  ]
