# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""How long runs take, in simulated time, until a metric is good enough."""

from collections.abc import Mapping
import math

from fedfish_tff.evaluation import metric_names
from fedfish_tff.evaluation import ranking
from launch.results import run_reader
from launch.results import text_table

import numpy as np

_SECONDS = 'simulated/seconds'


def has_time(run: run_reader.Run) -> bool:
  """Whether a run has simulated time."""
  return _SECONDS in run.columns


def read_series(
  run: run_reader.Run,
  metric: str,
  *,
  clock: run_reader.Run | None = None,
  communication_seconds: float | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
  """Returns rounds, seconds and values of the rows that have the metric.

  Args:
    run: A run.
    metric: A column of metrics.csv.
    clock: The run with simulated time whose rounds lasted as long; None for
      `run` itself.
    communication_seconds: What messages add to each round, in place of what
      they did there: they change nothing but the time. None for that.
  """
  clock = clock or run
  rounds, _, values = run.series('round', metric)
  timed, seconds, _ = clock.series(_SECONDS, _SECONDS)
  rounds, kept, found = np.intersect1d(rounds, timed, return_indices=True)
  seconds = seconds[found]
  if communication_seconds is not None:
    own = clock.config['participation']['speeds']['communication_seconds']
    seconds = seconds + rounds * (communication_seconds - own)
  return rounds, seconds, values[kept]


def seconds_to_reach(
  run: run_reader.Run, metric: str, target: float
) -> float | None:
  """Returns when a run first had a value at least as good as the target.

  Args:
    run: A run with simulated time.
    metric: A column of metrics.csv.
    target: The value.

  Returns:
    Seconds; None if it never had.
  """
  _, seconds, values = read_series(run, metric)
  return first_to_reach(seconds, values, metric, target)


def first_to_reach(
  seconds: np.ndarray, values: np.ndarray, metric: str, target: float
) -> float | None:
  """Returns when the first value is at least as good as the target, if one is.

  Args:
    seconds: The times, rising.
    values: The values then.
    metric: A column of metrics.csv.
    target: The value.
  """
  higher_is_better = metric_names.higher_is_better(metric)
  reached = (
    float(time)
    for time, value in zip(seconds, values)
    if not ranking.is_better(target, value, higher_is_better=higher_is_better)
  )
  return next(reached, None)


def format_table(runs: Mapping[str, run_reader.Run], metric: str) -> str:
  """Returns what each run has reached, and when it was as good as all are.

  Args:
    runs: Runs by name; those without simulated time are left out.
    metric: A column of metrics.csv.
  """
  ends, best = {}, {}
  for name, run in runs.items():
    _, seconds, values = read_series(run, metric)
    if len(values):
      ends[name] = seconds[-1]
      best[name] = sign(metric) * np.max(sign(metric) * values)
  target = sign(metric) * min(
    (sign(metric) * v for v in best.values()), default=math.nan
  )
  rows = [('run', 'simulated seconds', 'best', f'seconds until {target:.4f}')]
  for name, value in best.items():
    reached = seconds_to_reach(runs[name], metric, target)
    rows.append((name, f'{ends[name]:.1f}', f'{value:.4f}', f'{reached:.1f}'))
  return text_table.align(rows)


def sign(metric: str) -> int:
  """Returns 1 for a metric that is better when higher, else -1."""
  return 1 if metric_names.higher_is_better(metric) else -1
