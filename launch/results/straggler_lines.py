# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Metrics against the simulated time of rounds that wait for slow clients.

Figure 3 of SRPFL (arXiv:2206.02078) has a line per method and participation.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

from fedfish_tff.evaluation import metric_names
from fedfish_tff.evaluation import ranking
from launch.results import frames as frames_lib
from launch.results import method_labels
from launch.results import text_table

import numpy as np
import pandas as pd

SECONDS = 'simulated/seconds'
# The suffix of methods that train one model of all clients and fine-tune it.
_TUNED = '+FT'
_BEFORE = '_before'
_UNIFORM = 'uniform'
_POLICY = 'participation.name'
_TOLD = ('cohort_size', _POLICY, 'participation.speeds.kind')


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Line:
  """The seeds of one method with one participation in one metric.

  Attributes:
    task: The task.
    conditions: The conditions that all lines of a figure share: the most
      clients per round, and the kind of speeds.
    method: The method, with +FT if the model of all clients is fine-tuned.
    policy: The title of the choice of clients.
    metric: A column of metrics.csv.
    runs: The runs with the metric, one per seed.
    values: The metric by round, a column per run.
    seconds: The simulated time by round, a column per run.
    costs: The seconds that messages have added to each round, for each run.
  """

  task: str
  conditions: str
  method: str
  policy: str
  metric: str
  runs: pd.DataFrame
  values: pd.DataFrame
  seconds: pd.DataFrame
  costs: np.ndarray

  @property
  def base(self) -> str:
    """The method without +FT."""
    return self.method.replace(_TUNED, '')

  @property
  def is_before_tuning(self) -> bool:
    return self.metric.endswith(_BEFORE)

  @property
  def rounds(self) -> pd.Index:
    """The rounds at which all seeds have values."""
    return self.values.dropna().index.intersection(self.seconds.dropna().index)

  def points(
    self, communication_seconds: float | None = None
  ) -> tuple[np.ndarray, np.ndarray]:
    """Returns mean seconds over seeds and values `[num_seeds, num_points]`.

    Points are the rounds at which all seeds have values.

    Args:
      communication_seconds: The seconds that messages add to each round, in
        place of the runs' own seconds; these change only the time. None for
        the runs' own.
    """
    rounds = self.rounds
    seconds = self.seconds.loc[rounds].to_numpy()
    if communication_seconds is not None:
      seconds = seconds + np.outer(rounds, communication_seconds - self.costs)
    return seconds.mean(axis=1), self.values.loc[rounds].to_numpy().T

  def best(self) -> float:
    """Returns the best mean over seeds of any round."""
    sign = _sign(self.metric)
    return float(sign * (sign * self.points()[1].mean(axis=0)).max())

  def seconds_to_reach(
    self, target: float, communication_seconds: float | None = None
  ) -> float | None:
    """Returns the time until the mean over seeds reaches a value, or None.

    Args:
      target: The value.
      communication_seconds: See `points`.
    """
    seconds, values = self.points(communication_seconds)
    higher = metric_names.higher_is_better(self.metric)
    reached = (
      float(time)
      for time, value in zip(seconds, values.mean(axis=0))
      if not ranking.is_better(target, value, higher_is_better=higher)
    )
    return next(reached, None)


def read_lines(frames: frames_lib.Frames, metric: str) -> list[Line]:
  """Returns the lines of runs with simulated time and the metric.

  For a metric after fine-tuning, a method with one model of all clients has a
  line after fine-tuning and, with uniform cohorts, one before it. Speeds do not
  affect the training of uniform cohorts without over-selection. If such a run
  exists at other speeds with the same seed and clients, its clock gives a
  further line.

  Args:
    frames: The labelled runs; those without simulated time are left out.
    metric: A column of metrics.csv.
  """
  timed = frames.drawn(SECONDS).index.unique('run')
  runs = frames.runs
  has_speeds = [
    bool((config.get('participation') or {}).get('speeds'))
    for config in runs['config']
  ]
  frames = frames.of(runs[runs.index.isin(timed) & has_speeds])
  runs = frames.runs
  if runs.empty:
    return []
  firsts = runs.drop_duplicates('label')
  names = frames_lib.name_methods(frames, firsts, _told_elsewhere(firsts))
  tasks = method_labels.label_tasks(firsts)
  clocks = _read_clocks(frames)
  lines = {}
  for name, task, of in zip(names, tasks, frames.groups().values()):
    run = of.runs.iloc[0]
    policy = run.config['participation']['name']
    title, *told = name.split(', ', 1)
    shown = {name: metric}
    if run.one_model and len(of.column(str(metric_names.before(metric)))):
      shown = {', '.join([title + _TUNED, *told]): metric}
      if policy == _UNIFORM:
        shown[name] = metric + _BEFORE
    for method, column in shown.items():
      line = read_line(
        of,
        column,
        task=task,
        conditions=_conditions(run.config),
        method=method,
        policy=run.told.get(_POLICY, policy),
      )
      if line:
        lines[_key(line)] = line
        for other in _at_other_speeds(line, clocks, frames):
          lines.setdefault(_key(other), other)
  return list(lines.values())


def read_line(
  frames: frames_lib.Frames, metric: str, **told: str
) -> Line | None:
  """Returns the line of runs that differ in their seed; None without values.

  Args:
    frames: The runs; those without simulated time or the metric are left out.
    metric: A column of metrics.csv.
    **told: The names of the line, which are attributes of `Line`.
  """
  values = frames.drawn(metric)[metric].unstack('run')
  seconds = frames.drawn(SECONDS)[SECONDS].unstack('run')
  kept = [run for run in frames.runs.index if run in values and run in seconds]
  names = dict.fromkeys(('task', 'conditions', 'method', 'policy'), '')
  runs = frames.runs.loc[kept]
  line = Line(
    **names | told,
    metric=metric,
    runs=runs,
    values=values[kept],
    seconds=seconds[kept],
    costs=_costs(runs),
  )
  return line if kept and len(line.rounds) else None


def _costs(runs: pd.DataFrame) -> np.ndarray:
  """Returns the seconds that messages have added to each round of each run."""
  blocks = [config.get('participation') or {} for config in runs['config']]
  speeds = [block.get('speeds') or {} for block in blocks]
  return np.array([of.get('communication_seconds') or 0.0 for of in speeds])


def _conditions(config: Mapping[str, Any]) -> str:
  kind = config['participation']['speeds']['kind']
  return f'{config.get("cohort_size")} clients per round, {kind} speeds'


def _key(line: Line) -> tuple[str, ...]:
  return line.task, line.conditions, line.method, line.policy, line.metric


# For each key of the cohorts of all rounds, the index of a run by conditions.
_Clocks = Mapping[str, Mapping[str, int]]


def _cohorts_key(config: Mapping[str, Any]) -> str:
  block = {**config['participation'], 'speeds': None}
  keys = ('task', 'seed', 'cohort_size')
  return repr((block, *(config.get(key) for key in keys)))


def _read_clocks(frames: frames_lib.Frames) -> _Clocks:
  """Returns the longest runs by conditions, if speeds choose no clients."""
  ends = frames.rounds['round'].groupby('run').last()
  clocks = {}
  for index in ends.sort_values(kind='stable').index:
    config = frames.runs.loc[index, 'config']
    block = config['participation']
    if block['name'] == _UNIFORM and not block.get('over_selection'):
      key = _cohorts_key(config)
      clocks.setdefault(key, {})[_conditions(config)] = index
  return clocks


def _at_other_speeds(
  line: Line, clocks: _Clocks, frames: frames_lib.Frames
) -> list[Line]:
  """Returns the line at the speeds of other runs with the same cohorts."""
  ends = frames.rounds['round'].groupby('run').last()
  runs = line.runs
  found = [clocks.get(_cohorts_key(config), {}) for config in runs['config']]
  lines = []
  for conditions in found[0]:
    lent = [of.get(conditions) for of in found]
    if (
      conditions != line.conditions
      and None not in lent
      and (ends[lent].to_numpy() >= ends[runs.index].to_numpy()).all()
    ):
      lines.append(
        dataclasses.replace(
          line,
          conditions=conditions,
          seconds=frames.drawn(SECONDS)[SECONDS].unstack('run')[lent],
          costs=_costs(frames.runs.loc[lent]),
        )
      )
  return lines


def _told_elsewhere(runs: pd.DataFrame) -> list[str]:
  """Returns the fields that labels need not tell.

  Panels and styles of lines tell them, or they follow from the method, such as
  local epochs of which some train a head.
  """
  fields = list(runs['fields'])
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
  """Returns a table of the times to the value that half of the lines reach.

  Args:
    lines: The lines; those of one task and conditions are compared.
    costs: The seconds that messages add to each round, one per column.
  """
  parts = []
  for key in dict.fromkeys((line.task, line.conditions) for line in lines):
    kept = [line for line in lines if (line.task, line.conditions) == key]
    best = _from_the_best(kept)
    target = best[(len(best) - 1) // 2]
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
          str(line.rounds[-1]),
          f'{line.best():.4f}',
        )
        + tuple('never' if r is None else f'{r:.1f}' for r in reached)
      )
    parts.append(f'{", ".join(key)}\n{text_table.align(rows)}\n')
  return '\n'.join(parts)


def _from_the_best(lines: Sequence[Line]) -> list[float]:
  """Returns the best value of each line of one metric, the best first."""
  return sorted(
    (line.best() for line in lines),
    key=lambda value: -_sign(next(iter(lines)).metric) * value,
  )


def _sign(metric: str) -> int:
  """Returns 1 for a metric that is better when higher, else -1."""
  return 1 if metric_names.higher_is_better(metric) else -1
