# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Values for a sweep, such as rates, from another sweep that has tuned them."""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import os

from fedfish_tff import errors
from fedfish_tff.evaluation import metric_names
from launch import json_config
from launch.configs import sweeps
from launch.methods import config as config_lib
from launch.methods import config_fields
from launch.results import column_titles
from launch.results import sweep_folder
from launch.results import sweep_results
from launch.results import text_table
from launch.sweeps import plan as plan_lib

import pandas as pd

# Fields that may differ in a tuning sweep, which is shorter, with fewer seeds,
# beside those that it tunes.
_UNMATCHED = (
  'seed',
  'rounds',
  'evaluate_every',
  'checkpoint_every',
  'stop_after_diverged_rounds',
  config_fields.FINE_TUNING_RATES,
)
_DIAGNOSTICS = 'algorithm.diagnostics'


class Tuning:
  """The values of tuned fields, such as rates, that were best in another sweep."""

  def __init__(
    self, path: str | os.PathLike[str], *, metric: str | None = None
  ) -> None:
    """Reads the other sweep.

    Args:
      path: The folder of the other sweep, with only finished and failed runs;
        rates with a failed run are never the best.
      metric: The metric that decides; None for the task's.
    """
    self._path = path
    folder = sweep_folder.SweepFolder(path)
    self._runs = folder.read_runs()
    self._tuned = folder.read_tuned()
    self._seeds = sorted({run['config']['seed'] for run in self._runs.values()})
    results = sweep_results.read_results(folder)
    # A failed run may fail every time, for example by too high a rate.
    self._failed = folder.read_failed()
    open_runs = [
      name
      for name, finished in zip(results['run'], results['is_finished'])
      if not finished and name not in self._failed
    ]
    if open_runs:
      named = open_runs[0] + ', ...' * (len(open_runs) > 1)
      raise errors.InputError(
        f'--tuned_by={path}: {len(open_runs)} of its '
        f'{text_table.count(len(results), "run")} '
        f'{text_table.be(len(open_runs))} not finished ({named}); finish that '
        'sweep first.'
      )
    if metric is not None:
      _check_metric(metric, results, path)
    self._groups = sweep_results.tabulate(results, metric)
    # Tuples are hashable, which a merge needs.
    configs = self._groups['config'].map(json_config.with_tuples)
    self._fields = pd.DataFrame(
      list(configs.map(json_config.flatten)), dtype=object
    ).assign(variant=self._groups['variant'])

  def tune(
    self, runs: Sequence[sweeps.Run], given: Collection[str] = ()
  ) -> tuple[sweeps.Run, ...]:
    """Gives runs the values that were best in the other sweep.

    A run gets the values of its variant and of its values of the fields that
    both sweeps set, such as local_epochs; seeds, rounds, the frequency of
    evaluations and the given fields do not count. The best values have the best
    metric on validation clients after the last round, averaged over seeds.

    Args:
      runs: The runs, none of which sets a tuned field, such as a learning rate.
      given: The fields that the command sets in all runs, no tuned one.
    """
    for rate in self._tuned:
      if rate in set(given).union(*(run.overrides for run in runs)):
        raise errors.InputError(
          f'--tuned_by={self._path} gives {rate}, which the command or the '
          'sweep must leave open.'
        )
    return tuple(self._tune(run, given) for run in runs)

  def _tune(self, run: sweeps.Run, given: Collection[str]) -> sweeps.Run:
    """Returns a run with its values; the command gives the `given` fields."""
    config = json_config.flatten(self._find_best(run, given)['config'])
    # A closed-form method has no rates.
    values = {f: config[f] for f in self._tuned if f in config}
    return sweeps.Run(run.variant, {**run.overrides, **values})

  def _find_best(self, run: sweeps.Run, given: Collection[str]) -> pd.Series:
    """Returns the row of the group with the best values for a run."""
    path = self._path
    theirs = {f for other in self._runs.values() for f in other['fields']}
    compared = theirs.difference(_UNMATCHED, self._tuned, given)
    matched = json_config.flatten(
      {f: value for f, value in run.overrides.items() if f in compared}
    )
    wanted = pd.DataFrame([{'variant': run.variant, **matched}], dtype=object)
    there = self._fields.reindex(columns=list(wanted)).reset_index()
    candidates = self._groups.loc[there.merge(wanted)['index']]
    described = ', '.join(
      [run.variant, *(f'{name} {value}' for name, value in matched.items())]
    )
    if candidates.empty:
      raise errors.InputError(
        f'--tuned_by={path} must have the variants and values of this sweep, '
        f'got no runs of {described}.'
      )
    best = candidates[candidates['is_best']]
    if best.empty:
      raise errors.InputError(
        f'{path}: all runs of {described} have diverged or failed, so that none '
        'can be chosen.'
      )
    if len(best) > 1:
      table = pd.DataFrame(list(best['setting'])).map(repr)
      varied = table.columns[table.nunique() > 1]
      raise errors.InputError(
        f'--tuned_by={path} varies {", ".join(varied)}, which this sweep does '
        f'not set: the best rates of {described} are not one pair.'
      )
    return best.iloc[0]

  def add_candidates(
    self,
    runs: Sequence[sweeps.Run],
    planned: Sequence[plan_lib.PlannedRun],
    given: Collection[str] = (),
    rates: Collection[float] = (),
  ) -> tuple[sweeps.Run, ...]:
    """Gives runs the candidates for the learning rate of fine-tuning.

    All methods share them; in each run validation clients choose one. Runs
    without fine-tuning, those of methods whose rate is their own, and those that
    set candidates are left as they are.

    Args:
      runs: The runs of `tune`.
      planned: The same runs with their configs.
      given: The fields that the command sets in all runs.
      rates: The candidates; empty for the client rates that the other sweep
        tunes.
    """
    if not rates and config_fields.CLIENT_RATE in self._tuned:
      tried = self._fields.get(config_fields.CLIENT_RATE, pd.Series())
      rates = tuple(tried.dropna())
    candidates = tuple(sorted(set(rates)))
    if not candidates or config_fields.FINE_TUNING_RATES in given:
      return tuple(runs)
    return tuple(
      dataclasses.replace(
        run,
        overrides={
          **run.overrides,
          config_fields.FINE_TUNING_RATES: candidates,
        },
      )
      if _chooses(one.config)
      else run
      for run, one in zip(runs, planned, strict=True)
    )

  def describe(
    self,
    planned: Sequence[plan_lib.PlannedRun],
    given: Collection[str] = (),
  ) -> list[str]:
    """Returns sentences on the values of the runs and on their tuning.

    The other sweep must be of the same task and algorithm.

    Args:
      planned: The runs with the tuned values.
      given: The fields that the command sets in all runs.
    """
    told = self._tell_values({run.variant for run in planned})
    titles = dict(zip(self._groups['variant'], self._groups['method']))
    told += _tell_fine_tuning(planned, titles)
    told += sweep_results.tell_without_best(self._groups)
    told += sweep_results.tell_edges(self._groups)
    if self._failed:
      told.append(
        f'Note: {text_table.count(len(self._failed), "run")} of {self._path} '
        f'failed, so without a part in the choice: {", ".join(self._failed)}.'
      )
    differing = self._find_differences(planned, given)
    if differing:
      told.append(
        f'Note: {self._path} was tuned with another {", ".join(differing)}.'
      )
    return told

  def _tell_values(self, variants: Collection[str]) -> list[str]:
    """Returns sentences with the grids of tuned fields, and what was best."""
    best = self._groups[
      self._groups['is_best'] & self._groups['variant'].isin(variants)
    ]
    found = []
    for field in self._tuned:
      tried: dict[str, list[str]] = {}
      for row in best.to_dict('records'):
        same = self._groups[self._groups['name'] == row['name']]
        values = same['tuned'].str.get(field).dropna()
        grid = dict.fromkeys(map(sweep_results.format_value, values))
        # Methods may be tuned by fields that others have with one value.
        if len(grid) > 1:
          chosen = sweep_results.format_value(row['tuned'][field])
          tried.setdefault(', '.join(grid), []).append(
            f'{chosen} for {row["name"]}'
          )
      for grid, chosen in tried.items():
        found.append(f'{field}, of {grid}: {"; ".join(chosen)}')
    seeds = ', '.join(map(str, self._seeds))
    noun = 'seed' if len(self._seeds) == 1 else 'seeds'
    # Methods of clients' own models are judged by these.
    judges = {
      column_titles.describe(column): '; '.join(dict.fromkeys(of['method']))
      for column, of in best.groupby('column', sort=False)
    }
    told = '; '.join(
      f'by {by} for {methods if len(judges) > 1 else "each method"}'
      for by, methods in judges.items()
    )
    return [f'Tuned with {noun} {seeds}, {told}. {"; ".join(found)}.'] * bool(
      found
    )

  def _find_differences(
    self,
    planned: Sequence[plan_lib.PlannedRun],
    given: Collection[str],
  ) -> list[str]:
    """Returns the fields that differ, unless one of the sweeps sets them.

    Rates of another algorithm, such as another server optimizer, are refused.
    """
    tuned = self._runs.values()
    set_fields = {
      *(field for run in tuned for field in run['fields']),
      *(field for run in planned for field in run.fields),
    }
    set_fields.difference_update(given)
    set_fields.update(_UNMATCHED, self._tuned)
    differing = set()
    for run in planned:
      there = next(r for r in tuned if r['variant'] == run.variant)['config']
      name, other = run.config.task['name'], there['task']['name']
      if name != other:
        raise errors.InputError(
          f'--tuned_by={self._path} must be a sweep of task {name!r}, got '
          f'{other!r}.'
        )
      old = json_config.flatten(there)
      new = json_config.flatten(sweep_folder.to_json(run.config.values))
      differing |= {
        f for f in new.keys() | old.keys() if old.get(f) != new.get(f)
      }
    found = sorted(differing - set_fields)
    other = [
      f for f in found if f.startswith('algorithm.') and f != _DIAGNOSTICS
    ]
    if other:
      raise errors.InputError(
        f'--tuned_by={self._path} must be a sweep of the same algorithms, got '
        f'one with another {", ".join(other)}.'
      )
    return found


def _chooses(config: config_lib.Config) -> bool:
  """Returns whether a run can take candidates, and has none of its own."""
  own = config.evaluation
  return bool(
    own.personalization_epochs
    and not own.personalization_learning_rates
    and config.method.chooses_fine_tuning_rate
  )


def _tell_fine_tuning(
  planned: Sequence[plan_lib.PlannedRun], titles: Mapping[str, str]
) -> list[str]:
  """Returns a sentence for each way to set the rate of fine-tuning."""
  variants: dict[str, list[str]] = {}
  for run in planned:
    own = run.config.evaluation
    if not own.personalization_epochs:
      continue
    rates = ', '.join(f'{r:g}' for r in own.personalization_learning_rates)
    how = (
      f'with the rate among {rates} that is best on validation clients'
      if rates
      else f'with {run.config.method.fine_tunes_by}'
    )
    variants.setdefault(how, []).append(titles[run.variant])
  return [
    f'Fine-tuning {how}: {"; ".join(dict.fromkeys(of))}.'
    for how, of in variants.items()
  ]


def _check_metric(
  metric: str, results: pd.DataFrame, path: str | os.PathLike[str]
) -> None:
  prefix = f'validation/{sweep_results.judged(results).judged_by}/'
  known = sorted(
    column.removeprefix(prefix)
    for column in results
    if column.startswith(prefix) and not metric_names.is_count(column)
  )
  if metric not in known:
    raise errors.InputError(
      f'--tuned_metric must be one of {", ".join(known)}, the metrics of the '
      f'runs of {path} on validation clients, got {metric}.'
    )
