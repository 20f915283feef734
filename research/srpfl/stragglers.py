# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Figure 3 of SRPFL: scores by simulated time, a row per cost of messages.

  python -m launch.plot --layout=research.srpfl.stragglers:draw \
    --sweep_dir=runs/stragglers --output_dir=plots

draws the metric against simulated time, a row of panels for messages of 0, 10
and 100 seconds, which do not affect training, and tells the time at which each
line reaches the best score that half of the lines reach. A line is a method with
one participation schedule.

Tziotis et al. (arXiv:2206.02078), section 5: the higher the cost of messages per
round, the smaller the gain of rounds that do not wait for slow clients.
"""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from fedfish_tff import errors
from fedfish_tff.evaluation import metric_names
from fedfish_tff.evaluation import ranking
from launch.plots import panels
from launch.plots import style
from launch.results import column_titles
from launch.results import frames as frames_lib
from launch.results import method_comparison
from launch.results import result_table
from launch.results import run_labels
from launch.results import run_notes
from launch.results import text_table

from matplotlib import lines as mpl_lines
import numpy as np
import pandas as pd

_SECONDS = result_table.SECONDS
# The suffix of methods that train one model of all clients and fine-tune it.
_TUNED = '+FT'
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
  _BEFORE: ':',
}


def read_lines(frames: frames_lib.Frames, metric: str) -> pd.DataFrame:
  """Returns the points of the lines of runs with simulated time and the metric.

  For a metric after fine-tuning, a method with one model of all clients has a
  line after fine-tuning and, with uniform cohorts, one before it. Speeds do not
  affect the training of uniform cohorts without over-selection. If such a run
  exists at other speeds with the same seed and clients, its clock gives a
  further line.

  Args:
    frames: The labelled runs; those without simulated time are left out.
    metric: A column of metrics.csv.

  Returns:
    A row per line, seed and round at which all seeds of the line have values:
    `line`, a number; `task`; `conditions`, those that all lines of a figure
    share: the most clients per round, and the kind of speeds; `base`, the
    method; `method`, the same with +FT if the model of all clients is
    fine-tuned; `policy`, the title of the choice of clients; `metric`, a column
    of metrics.csv; `is_result`, whether the method promises the model that it
    scores; `higher_is_better`; `is_before`, whether that is before fine-tuning;
    `run`; `round`; `value`; `seconds`, the simulated time, mean over seeds,
    without messages, or with them if there is an `only_cost`; and `only_cost`,
    the one cost of messages at which the runs are as they are, since it decides
    on the first answers, NaN if it only takes time.
  """
  frames = _describe_timed(frames)
  if frames.runs.empty:
    return pd.DataFrame()
  seconds = frames.drawn(_SECONDS)[_SECONDS].unstack('run')
  adds = frames.runs['cost'].where(frames.runs['only_cost'].isna(), 0.0)
  seconds -= np.outer(seconds.index, adds[seconds.columns])
  firsts = frames.runs.drop_duplicates('label')
  names = frames_lib.name_methods(frames, firsts, _told_elsewhere(firsts))
  tasks = run_labels.label_tasks(firsts)
  lines = {}
  for name, task, of in zip(names, tasks, frames.groups().values()):
    first = of.runs.iloc[0]
    policy = first.config['participation']['name']
    title, *told = name.split(', ', 1)
    shown = {name: metric}
    before = metric_names.before(metric)
    if first.one_model and before and len(of.column(before)):
      shown = {', '.join([title + _TUNED, *told]): metric}
      if policy == _UNIFORM:
        shown[name] = before
    for method, column in shown.items():
      found = of.drawn(column)[column].unstack('run')
      runs = of.runs[of.runs.index.isin(found.columns)]
      clocks = _find_clocks(runs, frames.runs) if len(runs) else {}
      for conditions, clock in clocks.items():
        times = seconds[clock].dropna().mean(axis=1).rename('seconds')
        values = found[runs.index].dropna().stack().rename('value')
        points = values.to_frame().join(times, on='round', how='inner')
        key = task, conditions, method, policy, column, str(first.only_cost)
        # A run's own clock comes first.
        if len(points) and (key not in lines or clock == list(runs.index)):
          lines[key] = points.reset_index().assign(
            task=task,
            conditions=conditions,
            base=name,
            method=method,
            policy=first.deviations.get(_POLICY, policy),
            metric=column,
            is_result=method_comparison.is_result(first, column),
            higher_is_better=frames_lib.higher_is_better(of.runs, column),
            is_before=column == before,
            only_cost=first.only_cost,
          )
  numbered = [of.assign(line=i) for i, of in enumerate(lines.values())]
  return pd.concat(numbered, ignore_index=True) if numbered else pd.DataFrame()


def at_cost(lines: pd.DataFrame, cost: float) -> pd.DataFrame:
  """Returns the points of lines that have some at a cost of messages.

  Args:
    lines: The result of `read_lines`.
    cost: The seconds that messages add to each round, which change only the
      time, except that of lines with an `only_cost`.
  """
  adds = lines['only_cost'].isna()
  kept = lines[adds | (lines['only_cost'] == cost)]
  added = (cost * kept['round']).where(adds, 0.0)
  return kept.assign(seconds=kept['seconds'] + added)


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
        f'at most {block.get("concurrency") or config.get("cohort_size")} clients '
        f'per round, {block["speeds"]["kind"]} speeds'
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


def format_table(lines: pd.DataFrame, costs: Sequence[float]) -> str:
  """Returns a table of the times to the value that half of the lines reach.

  Lines of models that are only starts for others do not count; without further
  lines, there is no table.

  Args:
    lines: The result of `read_lines`; the lines of one task and conditions are
      compared.
    costs: The seconds that messages add to each round, one per column.
  """
  higher_is_better = bool(lines['higher_is_better'].iloc[0])
  best = 'max' if higher_is_better else 'min'
  parts = []
  for key, kept in lines.groupby(['task', 'conditions'], sort=False):
    # The initial model is no result of training.
    means = kept[kept['round'] > 0].groupby(['line', 'round'])['value'].mean()
    bests = means.groupby('line').agg(best)
    counted = bests[bests.index.isin(kept['line'][kept['is_result']])]
    if counted.empty:
      continue
    target = sorted(counted, reverse=higher_is_better)[(len(counted) - 1) // 2]
    rows = [
      ('method', 'participation', 'seeds', 'rounds', 'best')
      + tuple(f'seconds until {target:.3f}, messages {c:g}' for c in costs)
    ]
    for name, of in kept.groupby(['method', 'policy'], sort=False):
      first = of[of['line'] == of['line'].min()]
      reached = [_seconds_to_reach(of, target, cost) for cost in costs]
      rows.append(
        (
          *name,
          str(first['run'].nunique()),
          str(first['round'].max()),
          f'{bests[of["line"].unique()].agg(best):.4f}',
        )
        + tuple('never' if r is None else f'{r:.1f}' for r in reached)
      )
    parts.append(f'{", ".join(key)}\n{text_table.align(rows)}\n')
  return '\n'.join(parts)


def _seconds_to_reach(
  lines: pd.DataFrame, target: float, cost: float
) -> float | None:
  """Returns the time until the first line's mean over seeds reaches a value.

  The initial model does not count.

  Args:
    lines: The lines; the first that has points at the cost counts.
    target: The value.
    cost: The seconds that messages add to each round.

  Returns:
    The time; None if it never does.
  """
  higher_is_better = bool(lines['higher_is_better'].iloc[0])
  lines = at_cost(lines, cost)
  first = lines[(lines['line'] == lines['line'].min()) & (lines['round'] > 0)]
  means = first.groupby('round').agg({'seconds': 'first', 'value': 'mean'})
  for time, value in means.itertuples(index=False):
    if not ranking.is_better(target, value, higher_is_better=higher_is_better):
      return time
  return None


def draw(frames: frames_lib.Frames, metric: str) -> dict[str, panels.Drawing]:
  """Plots a figure for each conditions, with a column of panels per task.

  Methods differ in colour and marker, participation in line style. A row has
  each of COMMUNICATION_SECONDS, which messages add to each round and which only
  change the time of rounds, so that runs need not differ in them.

  Args:
    frames: The labelled runs; those without simulated time are left out, but
      some run must have it and the metric.
    metric: A column of metrics.csv.

  Returns:
    The drawings by the names of their files.
  """
  lines = read_lines(frames, metric)
  if lines.empty:
    raise errors.InputError(
      f'Some runs must have clients with speeds (participation.speeds) and '
      f'{metric}, got none.'
    )
  return {
    style.slug(f'stragglers {metric} {conditions}'): _plot(
      of, frames.runs.loc[of['run'].unique()]
    )
    for conditions, of in lines.groupby('conditions', sort=False)
  }


@style.styled_for_paper
def _plot(lines: pd.DataFrame, runs: pd.DataFrame) -> panels.Drawing:
  """Plots lines of one conditions, of the given runs."""
  tasks = lines['task'].unique()
  looks, entries = _looks(lines.drop_duplicates('line').set_index('line'))
  metric = lines['metric'][~lines['is_before'].astype(bool)].iloc[0]
  cells = [(cost, task) for cost in COMMUNICATION_SECONDS for task in tasks]
  figure, axes = panels.new_grid(
    cells, (panels.PAPER_COLUMN, 1.8), columns=len(tasks)
  )
  for axis, (cost, task) in zip(axes, cells):
    shown = at_cost(lines[lines['task'] == task], cost)
    points = {
      line: of.pivot(index=['round', 'seconds'], columns='run', values='value')
      for line, of in shown.groupby('line')
    }
    arrays = {
      line: (of.index.get_level_values('seconds').to_numpy(), of.to_numpy().T)
      for line, of in points.items()
    }
    panels.draw_lines(axis, arrays, looks)
    title = f'messages: {cost:g} s per round'
    panels.set_labels(
      axis,
      'Simulated time in seconds',
      column_titles.title(metric),
      f'{task}, {title}' if len(tasks) > 1 else title,
    )
  panels.limit_shares(axes, metric)
  panels.draw_legend(figure, *entries)
  seeds = lines.groupby('line')['run'].nunique()
  notes = (
    run_notes.tell_lines(seeds),
    run_notes.tell_clients(runs),
    run_notes.tell_starts(runs, lines['metric'].unique()),
    run_notes.tell_fine_tuning(runs, lines['metric'].unique()),
  )
  caption = (
    f'{column_titles.describe(metric)}, against the simulated time of rounds, '
    f'whose messages cost more from row to row; {lines["conditions"].iloc[0]}. '
    f'{run_notes.join(notes)}\n' + format_table(lines, COMMUNICATION_SECONDS)
  )
  return panels.Drawing(figure, caption)


def _looks(
  lines: pd.DataFrame,
) -> tuple[dict[int, style.Look], list[list[mpl_lines.Line2D]]]:
  """Returns the looks of lines and the two groups of the legend's entries."""
  methods = style.method_looks(lines['base'])
  told = lines['policy'].mask(lines['is_before'].astype(bool), _BEFORE)
  styles = {of: {'linestyle': _STYLES.get(of, '-')} for of in told}
  looks = {
    line: methods[base] | styles[of]
    for line, base, of in zip(lines.index, lines['base'], told)
  }
  return looks, [
    [
      panels.entry(m, **look | {'linestyle': '-'})
      for m, look in methods.items()
    ],
    [panels.entry(of, color=style.INK, **look) for of, look in styles.items()],
  ]
