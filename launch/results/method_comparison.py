# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Comparisons of the methods of several runs, paired by seed and by client."""

from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Mapping
import itertools
import math
from typing import Any

from fedfish_tff.evaluation import metric_names
from fedfish_tff.evaluation import paired_comparison
from fedfish_tff.evaluation import ranking
from launch.results import frames as frames_lib
from launch.results import method_labels
from launch.results import run_reader
from launch.results import text_table

import numpy as np
import pandas as pd

# Fields in which comparable runs of two algorithms may differ.
_FREE_FIELDS = (
  *method_labels.POOLED,
  'algorithm',
  'client_learning_rate',
  'server_learning_rate',
)

SEEDS = 'seeds'
CLIENTS = 'clients in seeds'

# The two summaries of a column of metrics.csv. The last round is the result of
# a run, but noisy; the mean also shows which method learns faster. A run that
# has diverged by then has neither.
LAST_ROUND = 'last round'
ALL_ROUNDS = 'mean of rounds'

_TEST = 'test/'

# The runs of each label.
Groups = Mapping[str, frames_lib.Frames]
_COMPARISON = ['method', 'baseline', 'metric', 'rounds', 'paired_by']


def method_pairs(groups: Groups) -> list[tuple[str, str]]:
  """Returns pairs of labels on one task, each as (method, baseline).

  If some pairs differ only in the algorithm or only in other fields, pairs that
  differ in both are left out. Learning rates may differ in any case, since they
  are tuned for each method.

  Args:
    groups: The runs by label.
  """
  firsts = {label: of.runs.iloc[0] for label, of in groups.items()}
  pairs = [
    (one, other)
    if firsts[one].baseline < firsts[other].baseline
    else (other, one)
    for one, other in itertools.combinations(groups, 2)
    # Clients and metrics of different tasks cannot be compared.
    if (firsts[one].task, firsts[one].config['task'])
    == (firsts[other].task, firsts[other].config['task'])
  ]
  alike = [
    pair
    for pair in pairs
    if _differ_in_one_thing(*(firsts[label].config for label in pair))
  ]
  return alike or pairs


def _differ_in_one_thing(
  one: Mapping[str, Any], other: Mapping[str, Any]
) -> bool:
  """Returns whether two configs share the algorithm or all other fields."""
  if one['algorithm'] == other['algorithm']:
    return True
  return all(
    one.get(name) == other.get(name)
    for name in {*one, *other}
    if name not in _FREE_FIELDS
  )


def compare(
  method: pd.Series, baseline: pd.Series, **direction: bool | float
) -> paired_comparison.PairedComparison | None:
  """Compares the values of two methods within each seed, or client of a seed.

  Args:
    method: The values by seed, or by seed and client; infinite ones have
      diverged.
    baseline: The values of the baseline in the same form.
    **direction: The result of `direction`.

  Returns:
    The differences, method minus baseline; None if the two have no seed, or no
    client of a seed, in common.
  """
  common = method.index.intersection(baseline.index, sort=False)
  if common.empty:
    return None
  values = method[common], baseline[common]
  if common.nlevels == 1:
    return paired_comparison.compare_paired(
      *(of.to_dict() for of in values), **direction
    )
  nested = (
    {seed: part.droplevel(0).to_dict() for seed, part in of.groupby(level=0)}
    for of in values
  )
  return paired_comparison.compare_nested(*nested, **direction)


def stands_out(
  values: Mapping[Hashable, pd.Series], **direction: bool | float
) -> Hashable | None:
  """Returns the key of values that are better than others beyond the noise.

  Args:
    values: The values by seed; infinite ones have diverged.
    **direction: The result of `direction`.

  Returns:
    The key with the best mean, if its 95 % interval of paired differences to
    each other key leaves out 0; None without one. Keys without a finite value
    do not count, and fewer than five common seeds have no interval.
  """
  finite = {k: of for k, of in values.items() if np.isfinite(of).any()}
  higher_is_better = bool(direction['higher_is_better'])
  means = {
    key: float(of.mean()) if np.isfinite(of).all() else math.nan
    for key, of in finite.items()
  }
  found = ranking.select_best(means, higher_is_better=higher_is_better)
  others = [k for k in finite if found and k != found.best]
  for key in others:
    result = compare(finite[found.best], finite[key], **direction)
    end = result and (result.low if higher_is_better else -result.high)
    # NaN, without an interval, is not above 0 either.
    if not end or not end > 0:
      return None
  return found.best if others else None


BEYOND_NOISE = (
  'Bold is what beats all others beyond the noise, by 95 % intervals of paired '
  'differences, which need 5 seeds.'
)


def direction(
  groups: Iterable[frames_lib.Frames], metric: str
) -> dict[str, bool | float]:
  """Returns the arguments of `ranking.gains` for a column.

  Args:
    groups: The runs. Values of the column's metric give the scale, which also
      holds for differences such as barriers and deviations.
    metric: The column.
  """
  name = metric_names.without_suffix(metric).rpartition('/')[2]
  values = [
    np.ravel(of.rounds[column])
    for of in groups
    for column in of.rounds
    if column.startswith(('eval/', 'train/'))
    and column.rpartition('/')[2] == name
  ]
  sizes = np.abs(np.concatenate([*values, []]))
  sizes = sizes[np.isfinite(sizes)]
  return {
    'higher_is_better': metric_names.higher_is_better(metric),
    'scale': float(np.median(sizes)) if sizes.size else 0.0,
  }


def compare_methods(groups: Groups, metric: str) -> pd.DataFrame:
  """Compares all pairs of methods by a metric, its barrier and the clients.

  Args:
    groups: The runs by label.
    metric: A column of metrics.csv, for example `'eval/global/accuracy'`.

  Returns:
    The comparisons by seed, at the last round and over all rounds, those of the
    numbers of test clients of finished runs, and those by client within a seed,
    for the columns that runs have. See `compare_columns`.
  """
  name = metric.rpartition('/')[2]
  columns = dict.fromkeys([metric, f'csb/{name}', f'csb/{name}_by_examples'])
  names = (name, *(name + suffix for suffix in metric_names.SUFFIXES))
  tested = dict.fromkeys(
    column
    for of in groups.values()
    for column in of.runs
    if column.startswith(_TEST) and column.rpartition('/')[2] in names
  )
  by_client = ['global', *run_reader.FEW_SHOT_COLUMNS.values()]
  return compare_columns(
    groups,
    [
      *itertools.product(columns, (LAST_ROUND, ALL_ROUNDS), (SEEDS,)),
      *((column, LAST_ROUND, SEEDS) for column in tested),
      *((f'{of}/{name}', LAST_ROUND, CLIENTS) for of in by_client),
    ],
  )


def compare_columns(
  groups: Groups, columns: Iterable[tuple[str, str, str]]
) -> pd.DataFrame:
  """Compares all pairs of methods by each given column.

  Args:
    groups: The runs by label.
    columns: For each comparison, the `metric`, a column of metrics.csv or of
      evaluation/clients.csv, or `test/<name>` of summary.json; the `rounds`,
      `LAST_ROUND`, or `ALL_ROUNDS` for the mean over the rounds after the
      initial model at which both methods were evaluated; and `paired_by`, the
      pairs: `SEEDS` or `CLIENTS`.

  Returns:
    A row for each column and pair of methods with a seed, a round and, if
    clients are paired, a client in common: the `method`, the `baseline`, the
    three of the column, the fields of `PairedComparison`, method minus
    baseline, its `text`, and `p_holm`, p after Holm over the pairs of methods.
    A seed or client for which a method has diverged is a missing pair, which
    the note counts.
  """
  fields = list(paired_comparison.PairedComparison.__dataclass_fields__)
  rows = []
  pairs = method_pairs(groups)
  for (metric, rounds, paired_by), pair in itertools.product(columns, pairs):
    both = [groups[label] for label in pair]
    if paired_by == CLIENTS:
      values = [of.column(metric) for of in both]
    elif metric.startswith(_TEST):
      values = [by_seed(of.runs, metric) for of in both]
    else:
      values = _pair_rounds(*both, metric, rounds)
    result = compare(*values, **direction(both, metric))
    if result is not None:
      found = (getattr(result, field) for field in fields)
      rows.append((*pair, metric, rounds, paired_by, *found, str(result)))
  table = pd.DataFrame(rows, columns=[*_COMPARISON, *fields, 'text'])
  family = table.groupby(['metric', 'rounds', 'paired_by'])['p']
  table['p_holm'] = family.transform(paired_comparison.adjust_holm)
  return table


def by_seed(runs: pd.DataFrame, column: str) -> pd.Series:
  """Returns the existing values of runs of one label, by seed.

  Args:
    runs: The runs.
    column: The column of numbers.
  """
  values = runs.set_index('seed').reindex(columns=[column])[column]
  return values.astype(float).dropna()


def _pair_rounds(
  one: frames_lib.Frames, other: frames_lib.Frames, metric: str, which: str
) -> list[pd.Series]:
  """Returns a column's summaries by seed for each of two methods.

  Runs of different length, such as those of a fixed total of local epochs or
  those that stop early, are only compared at their ends, since their rounds do
  not correspond. An unfinished run has no end.
  """
  both = one, other
  columns = [of.column(metric) for of in both]
  lengths = [of.runs.set_index('seed')['length'] for of in both]
  alike = lengths[0].index[lengths[0] == lengths[1].reindex(lengths[0].index)]
  common = columns[0].index.intersection(columns[1].index)
  found = []
  for of, column, length in zip(both, columns, lengths):
    last = of.column('round').groupby(level=0).max().reindex(length.index)
    ends = length.index[last >= length] if which == LAST_ROUND else []
    seeds = column.index.get_level_values(0)
    is_alike = seeds.isin(alike)
    kept = is_alike & column.index.isin(common) | ~is_alike & seeds.isin(ends)
    found.append(value_by_seed(column[kept], which))
  return found


def value_by_seed(values: pd.Series, which: str) -> pd.Series:
  """Returns a column's summary for each seed with a round of training.

  Args:
    values: The column by seed and round.
    which: `LAST_ROUND` or `ALL_ROUNDS`. The summary of a run that has diverged
      by then is infinite.
  """
  # Round 0 is the initial model, which is the same for all methods.
  values = values[values.index.get_level_values(1) > 0]
  by_seed = values.groupby(level=0, sort=False)
  if which == LAST_ROUND:
    return by_seed.last()
  return by_seed.agg(lambda of: of.mean())  # Infinite if any value is.


def format_table(comparisons: pd.DataFrame) -> str:
  """Returns the comparisons as lines of text for a terminal."""
  head = ('difference', 'metric', 'of', 'paired by', 'mean [95 % interval]')
  told = comparisons[[*_COMPARISON, 'text']].itertuples(index=False)
  lines = [
    (f'{method} - {baseline}', *rest) for method, baseline, *rest in told
  ]
  return text_table.align([head, *lines])
