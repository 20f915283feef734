# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Figure 3 of SRPFL: scores by simulated time, a row per cost of messages.

Tziotis et al. (arXiv:2206.02078), section 5: a line per method and
participation. The higher the cost of messages per round, the smaller the gain
of rounds that do not wait for slow clients.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

from fedfish_tff.evaluation import metric_names
from fedfish_tff.evaluation import ranking
from launch.plots import panels
from launch.plots import style
from launch.results import column_titles
from launch.results import frames as frames_lib
from launch.results import method_labels
from launch.results import method_table
from launch.results import run_notes
from launch.results import text_table

import numpy as np
import pandas as pd

_SECONDS = method_table.SECONDS
# The suffix of methods that train one model of all clients and fine-tune it.
_TUNED = '+FT'
_BEFORE_SUFFIX = '_before'
_UNIFORM = 'uniform'
_POLICY = 'participation.name'
_ASYNCHRONOUS = 'asynchronous'
_TOLD = (
  'cohort_size',
  _POLICY,
  'participation.speeds.kind',
  'participation.speeds.communication_seconds',
)
# The costs of messages in SRPFL's figure.
COMMUNICATION_SECONDS = (0.0, 10.0, 100.0)
_BEFORE = 'before fine-tuning'
_STYLES = {
  'uniform': '-',
  'SRPFL': '--',
  'FLANP': '-.',
  'deadline': (0, (4, 1, 1, 1)),
  'asynchronous': (0, (1, 1)),
  'fastest': (0, (5, 1, 1, 1, 1, 1)),
  'Poisson': (0, (3, 1, 1, 1)),
  'visit once': (0, (8, 2)),
  'epochs': (0, (8, 2, 2, 2)),
  'first visits': (0, (2, 2)),
  _BEFORE: ':',
}


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
    values: The metric by round, a column per run, at the rounds at which all
      seeds have values.
    seconds: The simulated time without messages, in the form of `values`; with
      them if there is an `only_cost`.
    only_cost: The one cost of messages at which the runs are as they are, since
      it decides on the first answers; None if it only takes time.
  """

  task: str
  conditions: str
  method: str
  policy: str
  metric: str
  runs: pd.DataFrame
  values: pd.DataFrame
  seconds: pd.DataFrame
  only_cost: float | None = None

  @property
  def base(self) -> str:
    """The method without +FT."""
    return self.method.replace(_TUNED, '')

  @property
  def is_before_tuning(self) -> bool:
    return self.metric.endswith(_BEFORE_SUFFIX)

  @property
  def higher_is_better(self) -> bool:
    return metric_names.higher_is_better(self.metric)

  def points(self, cost: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns mean seconds over seeds and values `[num_seeds, num_points]`.

    Args:
      cost: The seconds that messages add to each round, which change only the
        time; that of `only_cost`, if there is one.
    """
    seconds = self.seconds.mean(axis=1).to_numpy()
    if self.only_cost is None:
      seconds = seconds + cost * self.values.index.to_numpy()
    return seconds, self.values.to_numpy().T

  def has_cost(self, cost: float) -> bool:
    """Returns whether the line has points at a cost of messages."""
    return self.only_cost in (None, cost)

  def best(self) -> float:
    """Returns the best mean over seeds of any round."""
    means = self.values.mean(axis=1)
    return float(means.max() if self.higher_is_better else means.min())

  def seconds_to_reach(self, target: float, cost: float) -> float | None:
    """Returns the time until the mean over seeds reaches a value, or None.

    Args:
      target: The value.
      cost: See `points`.
    """
    seconds, values = self.points(cost)
    reached = (
      float(time)
      for time, value in zip(seconds, values.mean(axis=0))
      if not ranking.is_better(
        target, value, higher_is_better=self.higher_is_better
      )
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
  frames = _describe_timed(frames)
  if frames.runs.empty:
    return []
  seconds = frames.drawn(_SECONDS)[_SECONDS].unstack('run')
  adds = frames.runs['cost'].where(frames.runs['only_cost'].isna(), 0.0)
  seconds -= np.outer(seconds.index, adds[seconds.columns])
  firsts = frames.runs.drop_duplicates('label')
  names = frames_lib.name_methods(frames, firsts, _told_elsewhere(firsts))
  tasks = method_labels.label_tasks(firsts)
  lines = {}
  for name, task, of in zip(names, tasks, frames.groups().values()):
    first = of.runs.iloc[0]
    policy = first.config['participation']['name']
    title, *told = name.split(', ', 1)
    shown = {name: metric}
    if first.one_model and len(of.column(str(metric_names.before(metric)))):
      shown = {', '.join([title + _TUNED, *told]): metric}
      if policy == _UNIFORM:
        shown[name] = metric + _BEFORE_SUFFIX
    for method, column in shown.items():
      found = of.drawn(column)[column].unstack('run')
      runs = of.runs[of.runs.index.isin(found.columns)]
      clocks = _find_clocks(runs, frames.runs) if len(runs) else {}
      for conditions, clock in clocks.items():
        times = seconds[clock].dropna()
        values = found[runs.index].dropna()
        rounds = values.index.intersection(times.index)
        only_cost = runs['only_cost'].iloc[0]
        only_cost = None if np.isnan(only_cost) else only_cost
        key = task, conditions, method, policy, column, only_cost
        # A run's own clock comes first.
        if len(rounds) and (key not in lines or clock == list(runs.index)):
          lines[key] = Line(
            task=task,
            conditions=conditions,
            method=method,
            policy=first.told.get(_POLICY, policy),
            metric=column,
            runs=runs,
            values=values.loc[rounds],
            seconds=times.loc[rounds],
            only_cost=only_cost,
          )
  return list(lines.values())


def _describe_timed(frames: frames_lib.Frames) -> frames_lib.Frames:
  """Returns the runs with simulated time, with four further columns.

  These are `conditions`; `cost`, the seconds of messages, and `only_cost`, the
  same where they decide on cohorts, else NaN; and `cohorts`, a key of the
  clients of all rounds, None if speeds choose them.
  """
  ends = frames.drawn('round', _SECONDS)['round'].groupby('run').last()
  speeds = frames.runs['config'].map(
    lambda config: (config.get('participation') or {}).get('speeds')
  )
  runs = frames.runs.assign(end=ends)[speeds.astype(bool)]
  runs = runs.dropna(subset='end')
  costs = [of.get('communication_seconds') or 0.0 for of in speeds[runs.index]]
  blocks = [config['participation'] for config in runs['config']]
  return frames.of(
    runs.assign(
      conditions=[
        f'{block.get("concurrency") or config.get("cohort_size")} clients per '
        f'round, {block["speeds"]["kind"]} speeds'
        for config, block in zip(runs['config'], blocks)
      ],
      cost=costs,
      only_cost=[
        cost if block['name'] == _ASYNCHRONOUS else np.nan
        for cost, block in zip(costs, blocks)
      ],
      cohorts=list(map(_cohorts_key, runs['config'])),
    )
  )


def _cohorts_key(config: Mapping[str, Any]) -> str | None:
  block = {**config['participation'], 'speeds': None}
  if block['name'] != _UNIFORM or block.get('over_selection'):
    return None
  keys = ('task', 'seed', 'cohort_size')
  return repr((block, *(config.get(key) for key in keys)))


def _find_clocks(runs: pd.DataFrame, every: pd.DataFrame) -> dict[str, list]:
  """Returns the runs whose time holds for some runs, by conditions.

  Args:
    runs: The runs of one label.
    every: All runs with simulated time.
  """
  clocks = {runs['conditions'].iloc[0]: list(runs.index)}
  others = every[every['cohorts'].notna()].sort_values('end', kind='stable')
  for conditions, of in others.groupby('conditions', sort=False):
    longest = of.drop_duplicates('cohorts', keep='last')
    longest = longest.reset_index(names='clock').set_index('cohorts')
    lent = longest[['clock', 'end']].reindex(runs['cohorts'])
    if (lent['end'].to_numpy() >= runs['end'].to_numpy()).all():
      clocks.setdefault(conditions, lent['clock'].astype(int).tolist())
  return clocks


def _told_elsewhere(runs: pd.DataFrame) -> list[str]:
  """Returns the fields that labels need not tell.

  Panels and styles of lines tell them, or they follow from the method, such as
  local epochs of which some train a head.
  """
  fields = list(runs['fields'])
  method, numbers = (
    ['algorithm.name', 'task.name', *_TOLD],
    ['local_epochs', 'rounds'],
  )
  told = pd.DataFrame(
    [{n: repr(of.get(n)) for n in (*method, *numbers)} for of in fields]
  )
  follows = (told.groupby(method)[numbers].nunique() == 1).all()
  tasks = {name for of in fields for name in of if name.startswith('task.')}
  return [*_TOLD, *sorted(tasks), *follows.index[follows]]


def format_table(lines: Sequence[Line], costs: Sequence[float]) -> str:
  """Returns a table of the times to the value that half of the lines reach.

  Args:
    lines: The lines; those of one task and conditions are compared.
    costs: The seconds that messages add to each round, one per column.
  """
  parts = []
  for key in dict.fromkeys((line.task, line.conditions) for line in lines):
    kept = [line for line in lines if (line.task, line.conditions) == key]
    best = sorted(
      (line.best() for line in kept), reverse=kept[0].higher_is_better
    )
    target = best[(len(best) - 1) // 2]
    rows = [
      ('method', 'clients', 'seeds', 'rounds', 'best')
      + tuple(f'seconds until {target:.3f}, messages {c:g}' for c in costs)
    ]
    for name in dict.fromkeys((line.method, line.policy) for line in kept):
      of = [line for line in kept if (line.method, line.policy) == name]
      reached = [
        next(
          (x.seconds_to_reach(target, cost) for x in of if x.has_cost(cost)),
          None,
        )
        for cost in costs
      ]
      bests = [line.best() for line in of]
      best_of = max(bests) if of[0].higher_is_better else min(bests)
      rows.append(
        (
          *name,
          str(len(of[0].runs)),
          str(of[0].values.index[-1]),
          f'{best_of:.4f}',
        )
        + tuple('never' if r is None else f'{r:.1f}' for r in reached)
      )
    parts.append(f'{", ".join(key)}\n{text_table.align(rows)}\n')
  return '\n'.join(parts)


def plot_stragglers(
  frames: frames_lib.Frames, metric: str
) -> dict[str, panels.Drawing]:
  """Plots a figure for each conditions, with a column of panels per task.

  Methods differ in colour and marker, participation in line style. A row has
  each of COMMUNICATION_SECONDS, which messages add to each round and which only
  change the time of rounds, so that runs need not differ in them.

  Args:
    frames: The labelled runs; those without simulated time are left out.
    metric: A column of metrics.csv.

  Returns:
    The drawings by conditions.
  """
  lines = read_lines(frames, metric)
  return {
    conditions: _plot([of for of in lines if of.conditions == conditions])
    for conditions in dict.fromkeys(line.conditions for line in lines)
  }


@style.styled_for_paper
def _plot(lines: Sequence[Line]) -> panels.Drawing:
  tasks = dict.fromkeys(line.task for line in lines)
  looks, entries = _looks(lines)
  metric = min((line.metric for line in lines), key=len)
  cells = [(cost, task) for cost in COMMUNICATION_SECONDS for task in tasks]
  figure, axes = panels.new_grid(
    cells, (panels.PAPER_COLUMN, 1.8), columns=len(tasks)
  )
  for axis, (cost, task) in zip(axes, cells):
    panels.draw_lines(
      axis,
      {
        line: line.points(cost)
        for line in lines
        if line.task == task and line.has_cost(cost)
      },
      looks,
    )
    title = f'messages: {cost:g} s per round'
    panels.set_labels(
      axis,
      'Simulated time in seconds',
      column_titles.title(metric),
      f'{task}, {title}' if len(tasks) > 1 else title,
    )
  panels.draw_legend(figure, *entries)
  runs = pd.concat([line.runs for line in lines])
  seeds = run_notes.count_seeds(len(line.runs) for line in lines)
  caption = (
    f'{column_titles.describe(metric)}, against the simulated time of rounds, '
    f'whose messages cost more from row to row; {lines[0].conditions}. Lines: '
    f'means over {seeds}; bands, where there are few: lowest to highest seed. '
    f'{run_notes.tell_clients(runs)}.\n'
    + format_table(lines, COMMUNICATION_SECONDS)
  )
  return panels.Drawing(figure, caption)


def _looks(lines: Sequence[Line]):
  """Returns the looks of lines and the two groups of the legend's entries."""
  colors = style.method_looks(line.base for line in lines)
  colors = {name: look | {'linestyle': '-'} for name, look in colors.items()}
  looks, used = {}, []
  for line in lines:
    what = _BEFORE if line.is_before_tuning else line.policy
    used.append(what)
    looks[line] = colors[line.base] | {'linestyle': _STYLES.get(what, '-')}
  return looks, [
    [panels.entry(name, **look) for name, look in colors.items()],
    [
      panels.entry(what, color=style.INK, linestyle=_STYLES.get(what, '-'))
      for what in dict.fromkeys(used)
    ],
  ]
