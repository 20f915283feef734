# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the runs of a sweep have reached, by run and over seeds.

What is best is decided by validation clients. Plain Python, without TensorFlow.
"""

from collections.abc import Sequence
import dataclasses
import math
from typing import Any

from fedfish_tff.evaluation import metric_names
from fedfish_tff.evaluation import ranking
from launch.methods import config_checks
from launch.results import run_reader
from launch.results import seed_statistics
from launch.results import sweep_folder

RATES = ('client_learning_rate', 'server_learning_rate')
_SEED = 'seed'
_VARIANT = 'variant'


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Group:
  """Runs that differ by their seed only.

  Attributes:
    runs: The runs.
  """

  runs: Sequence[run_reader.Run]

  @property
  def variant(self) -> str:
    return self.runs[0].variant

  @property
  def fields(self) -> dict[str, Any]:
    """Values of the fields in which groups differ, by dotted name."""
    return _fields_but_seed(self.runs[0])

  @property
  def num_missing(self) -> int:
    """How many runs are not finished."""
    return sum(not run.is_finished for run in self.runs)

  def cell(self, column: str) -> seed_statistics.Cell:
    """Returns a column over the finished runs that have it."""
    return seed_statistics.summarize(
      run.values[column] for run in self.runs if column in run.values
    )

  def validation_column(self, metric: str | None = None) -> str:
    """Returns the column that decides, such as `validation/global/accuracy`.

    Args:
      metric: The metric; None for the task's.
    """
    # A run without a finite value does not know whose it would be.
    judged_by = next((r.judged_by for r in self.runs if r.metric), 'global')
    return f'validation/{judged_by}/{metric or common_metric(self.runs)}'

  def validation(self, metric: str | None = None) -> float:
    """What decides: NaN unless all seeds have finished and have not diverged.

    It is the mean over seeds of the metric on validation clients after the
    last round.

    Args:
      metric: The metric; None for the task's.
    """
    if not any(run.metric for run in self.runs):
      # None ever had a finite value of what decides.
      return math.nan
    cell = self.cell(self.validation_column(metric))
    return cell.mean if cell.seeds == len(self.runs) else math.nan


def read_results(folder: sweep_folder.SweepFolder) -> list[run_reader.Run]:
  """Returns the runs of a sweep, with their values where they are finished.

  Args:
    folder: Of the sweep.

  Raises:
    errors.InputError: If it is not that of a sweep.
  """
  runs = folder.read_runs()
  flat = {
    name: config_checks.flatten(run['config']) for name, run in runs.items()
  }
  varied = [
    field
    for field in dict.fromkeys(
      f for run in runs.values() for f in run['fields']
    )
    if len({repr(fields.get(field)) for fields in flat.values()}) > 1
  ]
  results = []
  for name, run in runs.items():
    summary = folder.read_summary(name, run['config'])
    results.append(
      run_reader.Run(
        workdir=folder.workdir(name),
        config=run['config'],
        variant=run['variant'],
        made_up=run_reader.read_made_up(folder.workdir(name)),
        fields={f: flat[name][f] for f in varied if f in flat[name]},
        **(run_reader.parse_summary(summary) if summary else {}),
      )
    )
  return results


def common_metric(runs: Sequence[run_reader.Run]) -> str | None:
  """Returns the metric of the first run that has one."""
  return next((run.metric for run in runs if run.metric), None)


def group_by_seed(runs: Sequence[run_reader.Run]) -> list[Group]:
  """Returns groups of runs that differ by their seed only, in order."""
  groups = {}
  for run in runs:
    key = run.variant, repr(_fields_but_seed(run))
    groups.setdefault(key, []).append(run)
  return [Group(runs=members) for members in groups.values()]


def _fields_but_seed(run: run_reader.Run) -> dict[str, Any]:
  return {k: v for k, v in run.fields.items() if k != _SEED}


def setting(group: Group, *, without: Sequence[str] = RATES) -> dict[str, Any]:
  """Returns a group's variant and fields, but for some: what was not tuned."""
  return {
    name: value
    for name, value in {_VARIANT: group.variant, **group.fields}.items()
    if name not in without
  }


def best_groups(
  groups: Sequence[Group], metric: str | None = None
) -> list[Group]:
  """Returns, of the groups that differ by learning rates only, the best one.

  The best is that with the best metric on validation clients, never on test
  clients; of those that tie the first. Where none has a finite value, there is
  none.

  Args:
    groups: The groups of a sweep.
    metric: The metric; None for the task's.
  """
  candidates: dict[str, list[Group]] = {}
  for group in groups:
    candidates.setdefault(repr(setting(group)), []).append(group)
  best = []
  for members in candidates.values():
    if metric is None:
      highest = best_is_highest(
        [run for group in members for run in group.runs]
      )
    else:
      highest = metric_names.higher_is_better(metric)
    chosen = ranking.select_best(
      {group: group.validation(metric) for group in members},
      higher_is_better=highest,
    )
    if chosen is not None:
      best.append(chosen.best)
  return best


def best_is_highest(runs: Sequence[run_reader.Run]) -> bool:
  """Whether the runs' metric is better when higher."""
  return next((run.higher_is_better for run in runs if run.metric), True)


def varies_rates(groups: Sequence[Group]) -> bool:
  """Whether some groups differ by learning rates only."""
  settings = [repr(setting(group)) for group in groups]
  return len(set(settings)) < len(settings)
