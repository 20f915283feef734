# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Compares the methods of several runs, paired by seed and by client."""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import itertools
from typing import Any

from fedfish_tff.evaluation import metric_names
from fedfish_tff.evaluation import paired_comparison
from launch.results import method_labels
from launch.results import run_reader
from launch.results import text_table

import numpy as np

# Fields that two runs of two algorithms may differ in and yet be comparable.
_FREE_FIELDS = (
  'algorithm',
  'seed',
  'checkpoint_every',
  'client_learning_rate',
  'server_learning_rate',
)

SEEDS = 'seeds'
CLIENTS = 'clients in seeds'

# What becomes of a column of metrics.csv. The last round alone is what is left
# of a run, but a noisy sight of it; the mean also tells who learns faster. A
# run that has diverged by then has neither.
LAST_ROUND = 'last round'
ALL_ROUNDS = 'mean of rounds'

Groups = Mapping[str, Sequence[run_reader.Run]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class MethodComparison:
  """One metric of two methods.

  Attributes:
    method: The method that is judged.
    baseline: What it is compared with.
    metric: The column of metrics.csv or of evaluation/clients.csv, or
      `test/<name>` of summary.json.
    level: What is paired: `SEEDS` or `CLIENTS`.
    rounds: Which rounds: `LAST_ROUND`, or `ALL_ROUNDS` for the mean over those
      after the initial model that both methods were evaluated at.
    result: Differences, method minus baseline.
  """

  method: str
  baseline: str
  metric: str
  level: str
  rounds: str
  result: paired_comparison.PairedComparison


def method_pairs(groups: Groups) -> list[tuple[str, str]]:
  """Returns pairs of labels on one task, each as (method, baseline).

  Where some pairs differ by the algorithm only, or by all but the algorithm,
  the others, of two differences at once, are left out. Learning rates may
  differ in either case, since each method has them tuned.
  """

  def rank(label: str) -> tuple[bool, int, bool]:
    config = groups[label][0].config
    baseline = method_labels.rank_baseline(config)
    # What sends a part is compared with what sends all.
    return not baseline, baseline, 'exchange' in config

  pairs = [
    (one, other) if rank(one) > rank(other) else (other, one)
    for one, other in itertools.combinations(groups, 2)
    # Clients and metrics of two tasks have nothing to do with each other.
    if groups[one][0].told_config['task']
    == groups[other][0].told_config['task']
  ]
  alike = [
    pair
    for pair in pairs
    if _differ_in_one_thing(*(groups[label][0].config for label in pair))
  ]
  return alike or pairs


def _differ_in_one_thing(
  one: Mapping[str, Any], other: Mapping[str, Any]
) -> bool:
  """Whether two configs have one algorithm, or all other fields in common."""
  if one['algorithm'] == other['algorithm']:
    return True
  return all(
    one.get(name) == other.get(name)
    for name in {*one, *other}
    if name not in _FREE_FIELDS
  )


def compare_methods(groups: Groups, metric: str) -> list[MethodComparison]:
  """Compares all pairs of methods by a metric, its barrier and the clients.

  Args:
    groups: Runs by label, as `run_reader.group_runs` returns them.
    metric: A column of metrics.csv, for example `'eval/global/accuracy'`.

  Returns:
    The comparisons by seed, then those by client in seed; of what the runs
    hold.
  """
  name = metric.rpartition('/')[2]
  columns = [metric, f'csb/{name}', f'csb/{name}_by_examples']
  by_client = ['global', *run_reader.FEW_SHOT_COLUMNS.values()]
  return compare_runs(groups, list(dict.fromkeys(columns))) + compare_clients(
    groups, [f'{column}/{name}' for column in by_client]
  )


def compare_runs(
  groups: Groups, metrics: Sequence[str]
) -> list[MethodComparison]:
  """Compares columns of metrics.csv, at the last round and over all rounds.

  Args:
    groups: Runs by label, as `run_reader.group_runs` returns them.
    metrics: Columns of metrics.csv.

  Returns:
    Two comparisons for each metric and pair of methods with a seed and a round
    in common; one, of each run's own last round, where numbers of rounds
    differ. A seed in which a method has diverged is a missing pair, which
    the note counts.
  """
  comparisons = []
  for metric, which, (method, baseline) in itertools.product(
    metrics, (LAST_ROUND, ALL_ROUNDS), method_pairs(groups)
  ):
    a, b = {}, {}
    for one, other in common_seeds(groups, method, baseline):
      pair = _pair_values(one, other, metric, which)
      if pair:
        a[one.seed], b[one.seed] = pair
    if a:
      result = paired_comparison.compare_paired(
        a, b, **direction([*groups[method], *groups[baseline]], metric)
      )
      comparisons.append(
        MethodComparison(
          method=method,
          baseline=baseline,
          metric=metric,
          level=SEEDS,
          rounds=which,
          result=result,
        )
      )
  return comparisons


def compare_test(groups: Groups, name: str) -> list[MethodComparison]:
  """Compares what summary.json says of the test clients, seed by seed.

  Args:
    groups: Runs by label, as `run_reader.group_runs` returns them.
    name: A metric, for example `'accuracy'`: of the global model, before and
      after personalisation, and over the tenth of clients with the worst.

  Returns:
    A comparison for each of these that two methods have in one seed at least;
    runs that are not finished have none. Metrics are named as
    `'test/global/accuracy'`.
  """
  columns = dict.fromkeys(
    column
    for runs in groups.values()
    for run in runs
    for column in run.test
    if column.rpartition('/')[2]
    in (name, *(name + s for s in metric_names.SUFFIXES))
  )
  comparisons = []
  for column, (method, baseline) in itertools.product(
    columns, method_pairs(groups)
  ):
    pairs = {
      one.seed: (one.test[column], other.test[column])
      for one, other in common_seeds(groups, method, baseline)
      if all(column in run.test for run in (one, other))
    }
    if pairs:
      result = paired_comparison.compare_paired(
        {seed: pair[0] for seed, pair in pairs.items()},
        {seed: pair[1] for seed, pair in pairs.items()},
        **direction([*groups[method], *groups[baseline]], column),
      )
      comparisons.append(
        MethodComparison(
          method=method,
          baseline=baseline,
          metric=f'test/{column}',
          level=SEEDS,
          rounds=LAST_ROUND,
          result=result,
        )
      )
  return comparisons


def _pair_values(
  one: run_reader.Run, other: run_reader.Run, metric: str, which: str
) -> tuple[float, float] | None:
  """Returns what is left of a column of two runs; None without a pair.

  Runs of different length, such as those of a fixed total of local epochs, or
  those that stop early, have only their ends in common: a round of one is not that of the other.

  Args:
    one: A run.
    other: Another run.
    metric: The column.
    which: `LAST_ROUND` or `ALL_ROUNDS`.
  """
  if one.length == other.length:
    rounds, *values = common_rounds(one, other, metric)
    kept = [select_rounds(rounds, which)] * 2
  elif which == LAST_ROUND and _is_whole(one) and _is_whole(other):
    recorded = [run.recorded(metric) for run in (one, other)]
    kept = [select_rounds(rounds, which) for rounds, _ in recorded]
    values = [values for _, values in recorded]
  else:
    return None
  if not all(k.any() for k in kept):
    return None
  a, b = (mean_or_nan(v[k]) for v, k in zip(values, kept))
  return a, b


def _is_whole(run: run_reader.Run) -> bool:
  return run.columns['round'].max(initial=0) >= run.length


def compare_clients(
  groups: Groups, metrics: Sequence[str]
) -> list[MethodComparison]:
  """Compares columns of evaluation/clients.csv, client by client.

  Args:
    groups: Runs by label, as `run_reader.group_runs` returns them.
    metrics: Columns of evaluation/clients.csv. Clients without a value in both
      runs of a seed are left out.

  Returns:
    A comparison for each metric and pair of methods with a client in common.
  """
  comparisons = []
  for metric, (method, baseline) in itertools.product(
    metrics, method_pairs(groups)
  ):
    a, b = {}, {}
    for one, other in common_seeds(groups, method, baseline):
      values = client_values(one, metric)
      baseline_values = client_values(other, metric)
      common = [client for client in values if client in baseline_values]
      if common:
        a[one.seed] = {client: values[client] for client in common}
        b[one.seed] = {client: baseline_values[client] for client in common}
    if a:
      result = paired_comparison.compare_nested(
        a, b, **direction([*groups[method], *groups[baseline]], metric)
      )
      comparisons.append(
        MethodComparison(
          method=method,
          baseline=baseline,
          metric=metric,
          level=CLIENTS,
          rounds=LAST_ROUND,
          result=result,
        )
      )
  return comparisons


def direction(
  runs: Iterable[run_reader.Run], metric: str
) -> dict[str, bool | float]:
  """Returns what `ranking.gains` has to know of a column.

  Args:
    runs: Runs with values of the metric, of which barriers and deviations are
      differences, and so have its scale.
    metric: The column.
  """
  name = metric_names.without_suffix(metric).rpartition('/')[2]
  values = [
    values[np.isfinite(values)]
    for run in runs
    for column, values in run.columns.items()
    if column.startswith(('eval/', 'train/'))
    and column.rpartition('/')[2] == name
  ]
  sizes = np.abs(np.concatenate([*values, []]))
  return {
    'higher_is_better': metric_names.higher_is_better(metric),
    'scale': float(np.median(sizes)) if sizes.size else 0.0,
  }


def common_seeds(
  groups: Groups, method: str, baseline: str
) -> list[tuple[run_reader.Run, run_reader.Run]]:
  """Returns the two methods' runs of each seed that both have."""
  others = {run.seed: run for run in groups[baseline]}
  return [
    (run, others[run.seed]) for run in groups[method] if run.seed in others
  ]


def select_rounds(rounds: np.ndarray, which: str) -> np.ndarray:
  """Returns which rounds count for `LAST_ROUND` or `ALL_ROUNDS`, as bools."""
  trained = rounds > 0  # Round 0 is the initial model, the same for all.
  if which == ALL_ROUNDS:
    return trained
  return trained & (rounds == rounds.max(initial=0))


def mean_or_nan(values: np.ndarray) -> float:
  """Returns the mean; NaN if one value is not finite: the run diverged."""
  return float(values.mean()) if np.isfinite(values).all() else np.nan


def common_rounds(
  one: run_reader.Run, other: run_reader.Run, metric: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
  """Returns the rounds at which two runs have a metric, and its values.

  Those that are not finite are among them.

  Args:
    one: A run.
    other: Another run.
    metric: A column of metrics.csv.
  """
  rounds, values = one.recorded(metric)
  other_rounds, other_values = other.recorded(metric)
  common, index, other_index = np.intersect1d(
    rounds, other_rounds, return_indices=True
  )
  return common, values[index], other_values[other_index]


def client_values(run: run_reader.Run, metric: str) -> dict[str, float]:
  """Returns a column of evaluation/clients.csv, of the clients that have it.

  Args:
    run: The run.
    metric: The column. Clients whose model has diverged have it, as NaN.
  """
  return {
    client: row[metric]
    for client, row in (run.clients or {}).items()
    if metric in row
  }


def format_table(comparisons: Sequence[MethodComparison]) -> str:
  """Returns the comparisons as lines of text for a terminal."""
  head = ('difference', 'metric', 'of', 'paired by', 'mean [95 % interval]')
  lines = [
    (f'{c.method} - {c.baseline}', c.metric, c.rounds, c.level, str(c.result))
    for c in comparisons
  ]
  return text_table.align([head, *lines])


def to_csv(comparisons: Sequence[MethodComparison]) -> bytes:
  """Returns the comparisons as a CSV file, one row each."""
  fields = [
    f.name for f in dataclasses.fields(paired_comparison.PairedComparison)
  ]
  head = ['method', 'baseline', 'metric', 'rounds', 'paired_by']
  return text_table.to_csv(
    [*head, *fields],
    [
      [c.method, c.baseline, c.metric, c.rounds, c.level]
      + [getattr(c.result, field) for field in fields]
      for c in comparisons
    ],
  )
