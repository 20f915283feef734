# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Transfer scores of several workdirs as one table, methods compared by seed."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import NamedTuple

from fedfish_tff.evaluation import metric_names
from fedfish_tff.evaluation import paired_comparison
from launch.results import run_reader
from launch.results import seed_statistics
from launch.results import settings as settings_lib
from launch.results import text_table
from launch.results import transfer_reader

import numpy as np


class Row(NamedTuple):
  """One method on one target.

  Attributes:
    task: The task that the model was trained on.
    target: The target.
    method: The method.
    local_epochs: Of a client in a round.
    rounds: That the runs are to have.
    at: Which model: R/2 or R.
    percent: The share of a client's data that was fine-tuned on.
    metric: The metric.
    seeds: How many runs have a finite value.
    mean: Over seeds, of the mean over clients.
    deviation: Sample standard deviation over seeds; NaN for one seed.
    all_tokens: Mean over seeds of the metric over all tokens.
    baseline: What the method is compared with; empty for the baseline itself.
    difference: The mean difference to the baseline within seeds, of the mean
      over clients; NaN where there is none.
    low: Of its 95 % bootstrap interval.
    high: Of that interval.
    pairs: Seeds that were compared.
    wins: Seeds in which the method is better.
    ties: Seeds in which neither is.
    note: What is particular about the interval.
  """

  task: str
  target: str
  method: str
  local_epochs: int
  rounds: int
  at: str
  percent: int
  metric: str
  seeds: int
  mean: float
  deviation: float
  all_tokens: float
  baseline: str = ''
  difference: float = np.nan
  low: float = np.nan
  high: float = np.nan
  pairs: int = 0
  wins: int = 0
  ties: int = 0
  note: str = ''


def read_line(
  runs: Sequence[run_reader.Run],
  *,
  target: str,
  at: str,
  metric: str,
  field: str = 'mean',
) -> dict[int, dict[int, float]]:
  """Returns finite scores by percent and seed.

  Args:
    runs: Runs that differ by their seed.
    target: The target.
    at: `transfer_reader.HALF` or `transfer_reader.LAST`.
    metric: The metric.
    field: Of `transfer_reader.Score`: mean (over clients) or all_tokens.
  """
  points = {}
  for run in runs:
    for score in run.transfer:
      if (score.target, score.metric) != (target, metric):
        continue
      name = transfer_reader.name_round(
        run.config['rounds'], score.round, model_round=run.model_round
      )
      if name != at:
        continue
      value = getattr(score, field)
      if np.isfinite(value):
        points.setdefault(score.percent, {})[run.seed] = value
  return points


def transfer_rows(settings: Sequence[settings_lib.Setting]) -> list[Row]:
  """Returns a row a target, metric, round, share, method and local epochs.

  A method is compared with the FedAvg of equal local epochs and rounds, by the
  differences within the seeds that both have; see `settings.find_baselines`.

  Args:
    settings: As `settings.read_settings` returns them.
  """
  rows = []
  for task in settings_lib.unique(s.task for s in settings):
    of_task = [s for s in settings if s.task == task]
    baselines = settings_lib.find_baselines(of_task)
    for target, metric in _targets_and_metrics(of_task):
      for at in (transfer_reader.HALF, transfer_reader.LAST):
        lines = {
          (s, field): read_line(
            s.runs, target=target, at=at, metric=metric, field=field
          )
          for s in of_task
          for field in ('mean', 'all_tokens')
        }
        for percent in sorted({p for line in lines.values() for p in line}):
          scores = {
            s: lines[s, 'mean'][percent]
            for s in of_task
            if percent in lines[s, 'mean']
          }
          for s, by_seed in scores.items():
            cell = seed_statistics.summarize(by_seed.values())
            pooled = lines[s, 'all_tokens'].get(percent, {})
            row = Row(
              task=task,
              target=target,
              method=s.method,
              local_epochs=s.local_epochs,
              rounds=s.rounds,
              at=at,
              percent=percent,
              metric=metric,
              seeds=cell.seeds,
              mean=cell.mean,
              deviation=cell.deviation,
              all_tokens=seed_statistics.summarize(pooled.values()).mean,
            )
            rows.append(_compare(row, s, scores, baselines))
  return rows


def _targets_and_metrics(
  settings: Sequence[settings_lib.Setting],
) -> list[tuple[str, str]]:
  return settings_lib.unique(
    (score.target, score.metric)
    for s in settings
    for run in s.runs
    for score in run.transfer
    if score.metric not in transfer_reader.COUNTS
  )


def _compare(
  row: Row,
  setting: settings_lib.Setting,
  scores: Mapping[settings_lib.Setting, Mapping[int, float]],
  baselines: Mapping[str, str],
) -> Row:
  """Adds the difference to the baseline, where there is one."""
  name = baselines.get(setting.method)
  others = [
    by_seed
    for other, by_seed in scores.items()
    if other.method == name
    and (other.local_epochs, other.rounds)
    == (setting.local_epochs, setting.rounds)
  ]
  common = [seed for seed in scores[setting] if others and seed in others[0]]
  if not common:
    return row
  result = paired_comparison.compare_paired(
    {seed: scores[setting][seed] for seed in common},
    {seed: others[0][seed] for seed in common},
    higher_is_better=metric_names.higher_is_better(row.metric),
  )
  return row._replace(
    baseline=name,
    difference=result.mean,
    low=result.low,
    high=result.high,
    pairs=result.n,
    wins=result.wins,
    ties=result.ties,
    note=result.note,
  )


def to_csv(rows: Sequence[Row]) -> bytes:
  """Returns the rows as a CSV file; NaN is empty."""
  return text_table.to_csv(Row._fields, rows)


def format_table(rows: Sequence[Row]) -> str:
  """Returns rows of one metric as text, shares side by side."""
  percents = sorted({row.percent for row in rows})
  lines = [
    ('from', 'to', 'method', 'epochs', 'round', *(f'{p} %' for p in percents))
  ]
  by_line = {}
  for row in rows:
    key = (row.task, row.target, row.at, row.method, row.local_epochs)
    by_line.setdefault((*key, row.rounds), {})[row.percent] = row
  for (task, target, at, method, epochs, rounds), cells in by_line.items():
    number = rounds // 2 if at == transfer_reader.HALF else rounds
    lines.append(
      (task, target, method, str(epochs), f'{number} ({at})')
      + tuple(_format_cell(cells[p]) if p in cells else '' for p in percents)
    )
  return text_table.align(lines)


def _format_cell(row: Row) -> str:
  """Returns '0.210 ± 0.003, +0.01 [+0.005, +0.02] of 5 seeds'."""
  text = f'{row.mean:.4g}'
  if row.seeds > 1:
    text += f' ± {row.deviation:.2g}'
  if row.pairs:
    text += f', {row.difference:+.2g}'
    if row.low == row.low:
      text += f' [{row.low:+.2g}, {row.high:+.2g}] of {row.pairs} seeds'
  return text
