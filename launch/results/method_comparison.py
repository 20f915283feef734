# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Comparisons of the methods of several runs, paired by seed and by client."""

from collections.abc import Collection
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Mapping
import itertools
import math
from typing import NamedTuple

from fedfish_tff.evaluation import metric_names
from fedfish_tff.evaluation import paired_comparison
from fedfish_tff.evaluation import ranking
from launch.results import frames as frames_lib
from launch.results import run_labels
from launch.results import run_reader
from launch.results import text_table

import numpy as np
import pandas as pd

# Fields in which runs that are compared may differ in any case: rates are tuned
# for each method.
_FREE_FIELDS = (
  *run_labels.POOLED,
  'algorithm.name',
  *run_labels.RATES,
)
_METHOD = 'algorithm.'
_EVALUATION = 'evaluation.'

SEEDS = 'seeds'
CLIENTS = 'clients in seeds'

# The two summaries of a column of metrics.csv. The last round is the result of
# a run, but noisy; the mean also shows which method learns faster. A run that
# has diverged by then has neither.
LAST_ROUND = 'last round'
ALL_ROUNDS = 'mean of rounds'
# The round of scores on test clients, such as the best one of early stopping.
MODEL = "run's model"

_TEST = 'test/'

# The runs of each label.
Groups = Mapping[str, frames_lib.Frames]
_COMPARISON = ['method', 'baseline', 'metric', 'rounds', 'paired_by']


class Pairs(NamedTuple):
  """The methods that are compared, each as (method, baseline), by label.

  Attributes:
    compared: The pairs that are compared.
    left_out: The fields that differ, by pair that is left out.
    different: The fields that differ, by pair that is compared all the same.
  """

  compared: list[tuple[str, str]]
  left_out: dict[tuple[str, str], list[str]]
  different: dict[tuple[str, str], list[str]]


def pair_methods(groups: Groups) -> Pairs:
  """Pairs every method with one baseline of its task.

  A task's baseline is its first run with the highest positive `baseline`; of
  several, a method's is the nearest, and the others are compared with the first.
  Without any, it is the first method. Two runs of one method may differ in any
  field, runs of two methods only in what follows from the methods. If a task
  has no such pair, all its pairs are compared.

  Args:
    groups: The runs by label.
  """
  firsts = {label: of.runs.iloc[0] for label, of in groups.items()}
  by_task: dict[str, dict[str, pd.Series]] = {}
  for label, first in firsts.items():
    by_task.setdefault(task_key(first), {})[label] = first
  compared, left_out, different = [], {}, {}
  for runs in by_task.values():
    usual = find_baselines(runs) or list(runs)[:1]
    pairs = {}
    for label, run in runs.items():
      if label != usual[0]:
        other = usual[0] if label in usual else find_nearest(run, usual, runs)
        pairs[label, other] = _differ_beyond_method(run, runs[other])
    alike = [pair for pair, fields in pairs.items() if not fields]
    compared += alike or pairs
    others = {pair: fields for pair, fields in pairs.items() if fields}
    if alike:
      left_out |= others
    else:
      different |= others
  return Pairs(compared, left_out, different)


def task_key(run: pd.Series) -> str:
  """Returns a text that is equal for runs whose scores can be compared."""
  # Clients and metrics of different tasks, or of their options, cannot be.
  return repr((run['task'], run['config']['task']))


def is_result(run: pd.Series, column: str) -> bool:
  """Returns whether a column scores a model that a run's method promises.

  The server's model may be but a start for clients' own: FedRep's has layers
  that were never trained, and HF-MAML's is trained to be fine-tuned.

  Args:
    run: A row of the frame of runs.
    column: A column of metrics.csv or evaluation/clients.csv, or a number of
      summary.json.
  """
  return bool(run['global_model']) or not metric_names.is_of_server(column)


def are_results(groups: Groups, pair: Iterable[str], column: str) -> bool:
  """Returns whether a column has results of all methods of a pair."""
  return all(is_result(groups[label].runs.iloc[0], column) for label in pair)


def find_baselines(runs: Mapping[str, pd.Series]) -> list[str]:
  """Returns the labels of the highest positive `baseline`; empty for none.

  `runs` has a run of each method of one task, by label.
  """
  highest = max(run.baseline for run in runs.values())
  return [k for k, run in runs.items() if run.baseline == highest > 0]


def find_nearest(
  run: pd.Series, labels: Iterable[str], runs: Mapping[str, pd.Series]
) -> str:
  """Returns the first label whose run differs from another in fewest fields.

  `runs` has a run of each label.
  """
  return min(labels, key=lambda k: len(differing_fields(run, runs[k])))


def differing_fields(one: pd.Series, other: pd.Series) -> list[str]:
  """Returns the dotted fields in which two runs differ.

  Args:
    one: A row of the frame of runs.
    other: Another row.

  Returns:
    The fields without those of `evaluation`, learning rates, and those that
    follow from a method, as far as `settled` of either run names them, or as
    only one of the methods has them.
  """
  fields = one['fields'], other['fields']
  free = {*_FREE_FIELDS, *one['settled'], *other['settled']}
  found = []
  for name in dict.fromkeys([*fields[0], *fields[1]]):
    if name in free or name.startswith(_EVALUATION):
      continue
    values = [repr(of[name]) for of in fields if name in of]
    if len(values) < 2 and name.startswith(_METHOD):
      continue
    if len(values) < 2 or values[0] != values[1]:
      found.append(name)
  return found


def _differ_beyond_method(one: pd.Series, other: pd.Series) -> list[str]:
  """Returns the fields because of which two runs do not compare methods."""
  if one['algorithm'] == other['algorithm']:
    return []
  fields = differing_fields(one, other)
  return [name for name in fields if not name.startswith(_METHOD)]


def tell_differences(groups: Groups) -> list[str]:
  """Returns sentences that name the pairs that differ beyond their methods."""
  pairs = pair_methods(groups)
  found = {
    'Left out of comparison.csv': pairs.left_out,
    'Compared, though not only the methods differ': pairs.different,
  }
  told = {
    words: [
      f'{method} with {baseline} ({", ".join(fields)})'
      for (method, baseline), fields in of.items()
    ]
    for words, of in found.items()
  }
  return [f'{words}: {"; ".join(of)}.' for words, of in told.items() if of]


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


class Standout(NamedTuple):
  """The best of some values, and whether it beats all others.

  Attributes:
    best: The key with the best mean; None unless all comparisons with others
      are significant.
    seeds: The numbers of common seeds of the comparisons.
    unpaired: The keys that cannot be compared, for lack of a value or of common
      seeds.
  """

  best: Hashable | None
  seeds: list[int]
  unpaired: list[Hashable]

  @property
  def has_too_few(self) -> bool:
    """True if no number of wins makes all comparisons significant."""
    least = paired_comparison.adjust_holm([2 / 2**n for n in self.seeds])
    return bool((least >= paired_comparison.ALPHA).any())


BOLD = (
  'Bold is the best mean of a column, of methods without a diverged value in it, '
  'if p_holm of its difference from each other method is below 0.05; '
  'docs/comparisons.md tells the test.'
)


def stand_out(
  values: Mapping[Hashable, pd.Series], **direction: bool | float
) -> Standout:
  """Finds values that are better than all others by a test.

  Each comparison flips the signs of differences within common seeds by
  `paired_comparison.flip_signs`; Holm's method corrects p for their number.

  Args:
    values: The values by seed; infinite ones have diverged. Values that have
      diverged for all seeds are beaten; without any, nothing stands out.
    **direction: The result of `direction`.
  """
  finite = {k: of for k, of in values.items() if np.isfinite(of).any()}
  unpaired = [k for k, of in values.items() if of.empty]
  higher_is_better = bool(direction['higher_is_better'])
  means = {
    key: float(of.mean()) if np.isfinite(of).all() else math.nan
    for key, of in finite.items()
  }
  found = ranking.select_best(means, higher_is_better=higher_is_better)
  if found is None:
    return Standout(None, [], unpaired)
  others = [key for key in finite if key != found.best]
  results = {
    key: compare(finite[found.best], finite[key], **direction) for key in others
  }
  unpaired += [key for key, of in results.items() if of is None or not of.n]
  compared = [of for of in results.values() if of is not None and of.n]
  p = paired_comparison.adjust_holm([of.p for of in compared])
  wins = [of.mean > 0 if higher_is_better else of.mean < 0 for of in compared]
  # NaN, of too few seeds, is not below the level either.
  is_best = (
    len(compared) > 0
    and not unpaired
    and all(wins)
    and all(p < paired_comparison.ALPHA)
  )
  return Standout(
    found.best if is_best else None,
    [of.n for of in compared],
    unpaired,
  )


def direction(
  groups: Collection[frames_lib.Frames], metric: str
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
    'higher_is_better': frames_lib.higher_is_better(
      pd.concat([of.runs for of in groups]), metric
    ),
    'scale': float(np.median(sizes)) if sizes.size else 0.0,
  }


def compare_methods(groups: Groups, metric: str) -> pd.DataFrame:
  """Compares all pairs of methods by a metric, its barrier and the clients.

  Args:
    groups: The runs by label.
    metric: A column of metrics.csv, for example `'eval/global/accuracy'`.

  Returns:
    The comparisons by seed, at the last round and over all rounds, those of the
    numbers of test clients, and those by client within a seed, both of finished
    runs' models, for the columns that runs have, in the form of
    `compare_columns`.
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
      *((column, MODEL, SEEDS) for column in tested),
      *((f'{of}/{name}', MODEL, CLIENTS) for of in by_client),
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
      initial model at which both methods were evaluated, or `MODEL` for what
      metrics.csv does not have; and `paired_by`, the pairs: `SEEDS` or
      `CLIENTS`.

  Returns:
    A row for each column and pair of methods with a seed, a round and, if
    clients are paired, a client in common: the `method`, the `baseline`, the
    three of the column, the number of common `seeds` with finite values, the
    fields of `PairedComparison`, method minus baseline, its `text`, and
    `p_holm`, p after Holm over the pairs of methods of a task.
    A seed or client for which a method has diverged is a missing pair, which
    the note counts. Unfinished runs have no results, nor has a method in columns
    of a model that it does not promise.
  """
  fields = list(paired_comparison.PairedComparison.__dataclass_fields__)
  rows, tasks = [], []
  pairs = pair_methods(groups).compared
  finished = {label: of.finished() for label, of in groups.items()}
  for (metric, rounds, paired_by), pair in itertools.product(columns, pairs):
    if not are_results(groups, pair, metric):
      continue
    both = [finished[label] for label in pair]
    if paired_by == CLIENTS or metric.startswith(_TEST):
      values = [_read(of, metric) for of in both]
    else:
      values = _pair_rounds(*both, metric, rounds)
    result = compare(*values, **direction(both, metric))
    if result is not None:
      found = (getattr(result, field) for field in fields)
      finite = [of.index[np.isfinite(of)] for of in values]
      seeds = finite[0].intersection(finite[1]).unique(0)
      key = *pair, metric, rounds, paired_by, len(seeds)
      rows.append((*key, *found, str(result)))
      tasks.append(task_key(groups[pair[1]].runs.iloc[0]))
  table = pd.DataFrame(rows, columns=[*_COMPARISON, 'seeds', *fields, 'text'])
  family = table.groupby([tasks, 'metric', 'rounds', 'paired_by'])['p']
  table['p_holm'] = family.transform(paired_comparison.adjust_holm)
  return table


def by_seed(runs: pd.DataFrame, column: str) -> pd.Series:
  """Returns the existing values of runs of one label, by seed."""
  values = runs.set_index('seed').reindex(columns=[column])[column]
  return values.astype(float).dropna()


def _read(frames: frames_lib.Frames, metric: str) -> pd.Series:
  """Returns a column of runs of one label, or `test/<name>` of summary.json."""
  if metric.startswith(_TEST):
    return by_seed(frames.runs, metric)
  return frames.column(metric)


def _pair_rounds(
  one: frames_lib.Frames, other: frames_lib.Frames, metric: str, which: str
) -> list[pd.Series]:
  """Returns a column's summaries by seed for finished runs of two methods.

  Runs of different length, such as those of a fixed total of local epochs or
  those that stop early, are only compared at their ends, since their rounds do
  not correspond. A run that ended since it diverged counts as diverged in both.
  """
  both = one, other
  columns = [of.column(metric) for of in both]
  runs = [of.runs.set_index('seed') for of in both]
  lengths = [of['length'] for of in runs]
  alike = lengths[0].index[lengths[0] == lengths[1].reindex(lengths[0].index)]
  diverged = [find_diverged(of) for of in runs]
  either = diverged[0].union(diverged[1])
  common = columns[0].index.intersection(columns[1].index)
  found = []
  for column, ended in zip(columns, diverged):
    is_alike = column.index.isin(alike, 0)
    # A run that ended early may have no round in common with the other.
    whole = ~is_alike & (which == LAST_ROUND) | column.index.isin(either, 0)
    kept = is_alike & column.index.isin(common) | whole
    found.append(value_by_seed(column[kept], which, ended))
  return found


def find_diverged(runs: pd.DataFrame) -> pd.Index:
  """Returns the index of the runs that have diverged."""
  return runs.index[runs['diverged_round'].notna()]


def value_by_seed(
  values: pd.Series, which: str, diverged: pd.Index
) -> pd.Series:
  """Returns a column's summary for each seed with a round of training.

  Args:
    values: The column by seed and round.
    which: `LAST_ROUND` or `ALL_ROUNDS`.
    diverged: The seeds of runs that have diverged, maybe after the last round
      with a value. If such a seed has the column, its summary is infinite.
  """
  ended = values.index.unique(0).intersection(diverged)
  # Round 0 is the initial model, which is the same for all methods.
  values = values[values.index.get_level_values(1) > 0]
  by_seed = values.groupby(level=0, sort=False)
  if which == LAST_ROUND:
    found = by_seed.last()
  else:
    found = by_seed.agg(lambda of: of.mean())  # Infinite if any value is.
  lost = pd.Series(math.inf, ended, dtype=float)
  return pd.concat([found.drop(ended, errors='ignore'), lost])


def tell_absent(groups: Groups, comparisons: pd.DataFrame, metric: str) -> str:
  """Returns a sentence that names methods which a column does not compare.

  A column that neither the method nor its baseline has, such as the metric of
  another task, is not told, nor is one that has no results of both.

  Args:
    groups: The runs by label.
    comparisons: The result of `compare_columns`, of which those that pair
      clients are left out: few runs may have been evaluated.
    metric: The column that counts, whether or not there is a comparison.
  """
  pairs = pair_methods(groups).compared
  methods = [pair[0] for pair in pairs if are_results(groups, pair, metric)]
  of_seeds = comparisons[comparisons['paired_by'] == SEEDS]
  head = 'Not compared, without values in common with the baseline'
  if of_seeds.empty:
    return f'{head}: {"; ".join(methods)}.' if methods else ''
  absent: dict[str, list[str]] = {}
  # No pair may have the column that counts.
  for column in dict.fromkeys([metric, *of_seeds['metric']]):
    there = set(of_seeds['method'][of_seeds['metric'] == column])
    without = [
      pair[0]
      for pair in pairs
      if pair[0] not in there
      and are_results(groups, pair, column)
      and not all(_read(groups[label], column).empty for label in pair)
    ]
    if without:
      absent.setdefault('; '.join(without), []).append(column)
  told = [f'{", ".join(of)} of {names}' for names, of in absent.items()]
  return f'{head}: {"; ".join(told)}.' if told else ''


def format_table(comparisons: pd.DataFrame) -> str:
  """Returns the comparisons of several seeds as text for a terminal."""
  # Without a seed, the text tells why.
  shown = comparisons[comparisons['seeds'] != 1]
  if shown.empty:
    return (
      'No differences are shown: the methods have one seed to compare, whose '
      'difference cannot be told from noise.'
    )
  head = ('difference', 'metric', 'of', 'paired by', 'mean [95 % interval]')
  lines = [
    (
      f'{of.method} - {of.baseline}',
      of.metric,
      of.rounds,
      of.paired_by,
      of.text
      + (
        ''
        if math.isnan(of.p_holm)
        else f', p_holm = {paired_comparison.format_p(of.p_holm)}'
      ),
    )
    for of in shown.itertuples()
  ]
  text = text_table.align([head, *lines])
  is_single = ~comparisons['method'].isin(shown['method'])
  if not is_single.any():
    return text
  names = '; '.join(comparisons['method'][is_single].unique())
  return (
    f'{text}\nNot shown, with one seed to compare with the baseline: {names}.'
  )
