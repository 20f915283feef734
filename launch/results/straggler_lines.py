# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs as SRPFL's figure 3 arranges them: a line a method and participation."""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

from fedfish_tff.evaluation import metric_names
from launch.methods import config_checks
from launch.methods import participation
from launch.methods import registry
from launch.results import method_labels
from launch.results import run_reader
from launch.results import text_table
from launch.results import time_to_reach

import numpy as np

# What is fine-tuned, though one model of all clients is trained.
_TUNED = '+FT'
_BEFORE = '_before'
_UNIFORM = 'uniform'
_TOLD = ('cohort_size', 'participation.name', 'participation.speeds.kind')


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Line:
  """The seeds of one method with one participation, by one metric.

  Attributes:
    task: The task.
    conditions: What all lines of a figure share: most clients a round, and the
      kind of speeds.
    method: The method, +FT where the model of all clients is fine-tuned.
    policy: Who takes part, by its title.
    metric: A column of metrics.csv.
    runs: A run a seed that has the metric.
    clocks: For each seed the run whose rounds lasted as long.
  """

  task: str
  conditions: str
  method: str
  policy: str
  metric: str
  runs: Sequence[run_reader.Run]
  clocks: Sequence[run_reader.Run]

  @property
  def base(self) -> str:
    """The method without +FT."""
    return self.method.replace(_TUNED, '')

  @property
  def is_before_tuning(self) -> bool:
    return self.metric.endswith(_BEFORE)

  def points(
    self, communication_seconds: float
  ) -> tuple[np.ndarray, np.ndarray]:
    """Returns seconds, means over seeds, and values `[num_seeds, num_points]`.

    They are of the rounds at which all seeds have values.

    Args:
      communication_seconds: What messages add to each round.
    """
    _, seconds, values = self._series(communication_seconds)
    return np.mean(seconds, axis=0), values

  def _series(
    self, communication_seconds: float
  ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns common rounds, and seconds and values by seed."""
    return run_reader.align(
      [
        time_to_reach.read_series(
          run,
          self.metric,
          clock=clock,
          communication_seconds=communication_seconds,
        )
        for run, clock in zip(self.runs, self.clocks)
      ]
    )

  def last_round(self) -> int:
    """Returns the last round at which all seeds have values."""
    return int(self._series(0.0)[0][-1])

  def best(self) -> float:
    """Returns the best mean over seeds of any round."""
    means = self.points(0.0)[1].mean(axis=0)
    sign = time_to_reach.sign(self.metric)
    return float(sign * (sign * means).max())

  def seconds_to_reach(
    self, target: float, communication_seconds: float
  ) -> float | None:
    """Returns when the mean over seeds was as good as a value; None if never.

    Args:
      target: The value.
      communication_seconds: What messages add to each round.
    """
    seconds, values = self.points(communication_seconds)
    return time_to_reach.first_to_reach(
      seconds, values.mean(axis=0), self.metric, target
    )


def read_lines(runs: Iterable[run_reader.Run], metric: str) -> list[Line]:
  """Returns the lines of runs with simulated time and the metric.

  A method that trains one model of all clients has two where the metric is one
  after fine-tuning: after it and, with uniform cohorts, before. Speeds change no
  training of uniform cohorts, unless some clients of more are taken: where any
  of these runs has other speeds, those of the same seed and clients have its
  clock for a line more.

  Args:
    runs: Runs; others are left out.
    metric: A column of metrics.csv.
  """
  runs = [run for run in runs if time_to_reach.has_time(run)]
  groups = list(run_reader.group_runs(runs).values())
  configs = [group[0].told_config for group in groups]
  names = method_labels.label_methods(configs, besides=_told_elsewhere(configs))
  tasks = method_labels.label_tasks(configs)
  clocks = _read_clocks(runs)
  lines = []
  for name, task, config, group in zip(names, tasks, configs, groups):
    policy = participation.POLICIES[config['participation']['name']]
    is_tuned = _is_tuned(config, group, metric)
    title, *settings = name.split(', ', 1)
    tuned = ', '.join([title + _TUNED, *settings])
    shown = [(tuned if is_tuned else name, metric)]
    if is_tuned and config['participation']['name'] == _UNIFORM:
      shown.append((name, metric + _BEFORE))
    for label, column in shown:
      kept = [run for run in group if len(run.series('round', column)[0])]
      if kept:
        line = Line(
          task=task,
          conditions=_conditions(kept[0]),
          method=label,
          policy=policy.title,
          metric=column,
          runs=kept,
          clocks=kept,
        )
        lines += [line, *_at_other_speeds(line, clocks)]
  return _without_needless(lines)


def _is_tuned(
  config: Mapping[str, Any], runs: Sequence[run_reader.Run], metric: str
) -> bool:
  """Whether the metric is of one model of all clients, after fine-tuning."""
  method = registry.find_method(config['algorithm']['name'])
  unsent = config.get('exchange', {}).get('unsent')
  if method.keeps_models or method.personalizes or unsent == 'client_keeps':
    return False
  before = metric_names.before(metric)
  return any(before in run.columns for run in runs)


def _conditions(run: run_reader.Run) -> str:
  kind = run.config['participation']['speeds']['kind']
  return f'{run.config["cohort_size"]} clients a round, {kind} speeds'


# By what decides on the clients of all rounds, runs by their conditions.
_Clocks = Mapping[str, Mapping[str, run_reader.Run]]


def _cohorts_key(run: run_reader.Run) -> str:
  block = {**run.config['participation'], 'speeds': None}
  keys = ('task', 'seed', 'cohort_size')
  return repr((block, *(run.config[key] for key in keys)))


def _last_round(run: run_reader.Run) -> int:
  return int(run.columns['round'][-1])


def _read_clocks(runs: Iterable[run_reader.Run]) -> _Clocks:
  """Returns the longest run of each conditions, where speeds choose nobody."""
  clocks = {}
  for run in sorted(runs, key=_last_round):
    block = run.config['participation']
    if block['name'] == _UNIFORM and not block.get('over_selection'):
      clocks.setdefault(_cohorts_key(run), {})[_conditions(run)] = run
  return clocks


def _at_other_speeds(line: Line, clocks: _Clocks) -> list[Line]:
  """Returns the line at the speeds at which others have had its clients."""
  found = [clocks.get(_cohorts_key(run), {}) for run in line.runs]
  return [
    dataclasses.replace(
      line, conditions=conditions, clocks=[of[conditions] for of in found]
    )
    for conditions in found[0]
    if conditions != line.conditions
    and all(
      conditions in of and _last_round(of[conditions]) >= _last_round(run)
      for of, run in zip(found, line.runs)
    )
  ]


def _without_needless(lines: Sequence[Line]) -> list[Line]:
  """Returns the lines, without those with borrowed clocks that runs have, too."""

  def key(line: Line) -> tuple[str, ...]:
    return line.task, line.conditions, line.method, line.policy, line.metric

  own = {key(line) for line in lines if line.clocks is line.runs}
  return [
    line for line in lines if line.clocks is line.runs or key(line) not in own
  ]


def _told_elsewhere(configs: Sequence[Mapping[str, Any]]) -> list[str]:
  """Returns the fields that labels need not tell.

  They are told by panels and the looks of lines, or follow from the method, as
  the local epochs do of which some are for a head.
  """
  fields = [config_checks.flatten(config) for config in configs]
  method = ('algorithm.name', 'task.name', *_TOLD)

  def follows(name: str) -> bool:
    seen = {}
    return all(
      seen.setdefault(tuple(map(f.get, method)), f.get(name)) == f.get(name)
      for f in fields
    )

  tasks = {name for f in fields for name in f if name.startswith('task.')}
  return [
    *_TOLD,
    *sorted(tasks),
    *(name for name in ('local_epochs', 'rounds') if follows(name)),
  ]


def format_table(lines: Sequence[Line], costs: Sequence[float]) -> str:
  """Returns when each line has reached what half of them reach.

  Args:
    lines: Lines; those of one task and conditions are compared.
    costs: What messages add to each round, a column each.
  """
  parts = []
  for key in dict.fromkeys((line.task, line.conditions) for line in lines):
    kept = [line for line in lines if (line.task, line.conditions) == key]
    target = _half_way(kept)
    rows = [
      ('method', 'clients', 'seeds', 'rounds', 'best')
      + tuple(f'seconds until {target:.3f}, messages {c:g}' for c in costs)
    ]
    for line in kept:
      reached = [line.seconds_to_reach(target, cost) for cost in costs]
      rows.append(
        (
          line.method,
          line.policy,
          str(len(line.runs)),
          str(line.last_round()),
          f'{line.best():.4f}',
        )
        + tuple('never' if r is None else f'{r:.1f}' for r in reached)
      )
    parts.append(f'{", ".join(key)}\n{text_table.align(rows)}\n')
  return '\n'.join(parts)


def _half_way(lines: Sequence[Line]) -> float:
  """Returns the best value that at least half of the lines reach."""
  sign = time_to_reach.sign(lines[0].metric)
  best = sorted((line.best() for line in lines), key=lambda v: -sign * v)
  return best[(len(best) - 1) // 2]
