# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the runs of a sweep have reached, by run and over seeds.

What is best is decided by validation clients. Plain Python, without TensorFlow.
"""

from collections.abc import Sequence
import math
from typing import Any

from fedfish_tff import simulation
from fedfish_tff.evaluation import metric_names
from fedfish_tff.evaluation import ranking
from launch.results import frames as frames_lib
from launch.results import run_reader
from launch.results import sweep_folder

import pandas as pd

RATES = ('client_learning_rate', 'server_learning_rate')
_SEED = 'seed'
_VARIANT = 'variant'


def read_results(folder: sweep_folder.SweepFolder) -> pd.DataFrame:
  """Returns the runs of a sweep, with their values where they are finished.

  Args:
    folder: The folder of the sweep.

  Returns:
    What `run_reader.describe_run` says of each, and its `variant`; `varied`, the
    values of the fields in which runs differ, by dotted name; `group`, which
    runs share that differ by their seed only, a number in order; and `setting`:
    the variant and what else is varied, but for seeds and learning rates.

  Raises:
    errors.InputError: If it is not that of a sweep.
  """
  planned = folder.read_runs()
  rows = []
  for name, run in planned.items():
    workdir = simulation.Workdir(folder.workdir(name))
    summary = folder.read_summary(name, run['config']) or {}
    rows.append(run_reader.describe_run(workdir, run['config'], summary))
    rows[-1][_VARIANT] = run['variant']
  names = dict.fromkeys(f for run in planned.values() for f in run['fields'])
  varied = [
    name
    for name in names
    if len({repr(row['fields'].get(name)) for row in rows}) > 1
  ]
  for row in rows:
    values = {f: row['fields'][f] for f in varied if f in row['fields']}
    fixed = {k: v for k, v in values.items() if k != _SEED}
    row |= {
      'varied': values,
      'group': repr((row[_VARIANT], fixed)),
      'setting': {
        name: value
        for name, value in {_VARIANT: row[_VARIANT], **fixed}.items()
        if name not in RATES
      },
    }
  runs = pd.DataFrame(rows, dtype=object)
  return runs.assign(group=pd.factorize(runs['group'])[0])


def groups(runs: pd.DataFrame) -> list[pd.DataFrame]:
  """Returns the runs of each group, those that differ by their seed only."""
  return [of for _, of in runs.groupby('group', sort=False)]


def cell(group: pd.DataFrame, column: str) -> frames_lib.Cell:
  """Returns a column over the finished runs of a group that have it."""
  return frames_lib.over_seeds(group.get(column, ()))


def judged(runs: pd.DataFrame) -> pd.Series:
  """Returns the first run that knows what decides, else the first."""
  known = runs[runs['metric'].notna()]
  return (known if len(known) else runs).iloc[0]


def validation_column(group: pd.DataFrame, metric: str | None = None) -> str:
  """Returns the column that decides, such as `validation/global/accuracy`.

  Args:
    group: Runs of a group.
    metric: The metric; None for the task's.
  """
  run = judged(group)
  return f'validation/{run.judged_by}/{metric or run.metric}'


def validation(group: pd.DataFrame, metric: str | None = None) -> float:
  """Returns what decides: the mean over seeds on validation clients at the end.

  Args:
    group: Runs of a group.
    metric: The metric; None for the task's.

  Returns:
    NaN unless all seeds have finished and have not diverged.
  """
  found = cell(group, validation_column(group, metric))
  return found.mean if found.seeds == len(group) else math.nan


def setting(group: pd.DataFrame) -> dict[str, Any]:
  """Returns a group's variant and fields, but for rates: what was not tuned."""
  return group['setting'].iloc[0]


def best_groups(
  candidates: Sequence[pd.DataFrame], metric: str | None = None
) -> list[pd.DataFrame]:
  """Returns, of the groups that differ by learning rates only, the best one.

  The best is that with the best metric on validation clients, never on test
  clients; of those that tie the first. Where none has a finite value, there is
  none.

  Args:
    candidates: The groups of a sweep.
    metric: The metric; None for the task's.
  """
  alike: dict[str, dict[int, float]] = {}
  for index, group in enumerate(candidates):
    of = alike.setdefault(repr(setting(group)), {})
    of[index] = validation(group, metric)
  higher_is_better = (
    judged(pd.concat(candidates)).higher_is_better
    if metric is None
    else metric_names.higher_is_better(metric)
  )
  chosen = [
    ranking.select_best(values, higher_is_better=higher_is_better)
    for values in alike.values()
  ]
  return [candidates[found.best] for found in chosen if found is not None]


def varies_rates(candidates: Sequence[pd.DataFrame]) -> bool:
  """Whether some groups differ by learning rates only."""
  settings = [repr(setting(group)) for group in candidates]
  return len(set(settings)) < len(settings)
