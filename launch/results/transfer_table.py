# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A table of transfer scores of several workdirs, with differences by seed."""

from fedfish_tff.evaluation import metric_names
from launch.results import method_comparison
from launch.results import run_reader
from launch.results import seed_table
from launch.results import settings as settings_lib

import numpy as np
import pandas as pd

# The half-way and the last model, as in the paper's figure. For a run with
# early_stopping, its model counts as the last one.
HALF, LAST = 'R/2', 'R'
# A row is one method on one target. The difference of the means over clients is
# to the baseline, within common seeds; its 95 % bootstrap interval is from low
# to high.
_LINE = [
  'task',
  'target',
  'method',
  'local_epochs',
  'rounds',
  'at',
  'percent',
  'metric',
]
_SCORES = ['seeds', 'mean', 'deviation', 'all_tokens']
_DIFFERENCE = {
  'difference': 'mean',
  'low': 'low',
  'high': 'high',
  'pairs': 'n',
  'wins': 'wins',
  'ties': 'ties',
  'note': 'note',
}
_NO_PAIR = {'baseline': '', 'pairs': 0, 'wins': 0, 'ties': 0, 'note': ''}
COLUMNS = [*_LINE, *_SCORES, 'baseline', *_DIFFERENCE]


def read_points(settings: settings_lib.Settings) -> pd.DataFrame:
  """Returns all finite scores at half of the rounds and at the end.

  Returns:
    A row per run and score: the columns of a `Setting`, `at` (R/2 or R),
    `seed`, and those of `run_reader.TransferScore` without its round.
  """
  parts = []
  for setting, frames in settings.items():
    for index, run in frames.runs.iterrows():
      if index in frames.transfer.index:
        scores = frames.transfer.loc[[index]]
        last = run.model_round or setting.rounds
        names = {
          setting.rounds // 2: HALF,
          last: LAST,
        }
        at = scores['round'].map(names)
        told = scores.assign(**setting._asdict(), at=at, seed=run.seed)
        parts.append(told.drop(columns='round'))
  if not parts:
    columns = [*_LINE, 'seed', *run_reader.TransferScore._fields]
    return pd.DataFrame(columns=list(dict.fromkeys(columns)))
  points = pd.concat(parts, ignore_index=True).dropna(subset='at')
  return points[np.isfinite(points['mean'])]


def transfer_rows(settings: settings_lib.Settings) -> pd.DataFrame:
  """Returns a row per target, metric, round, share, method and local epochs.

  A method is compared with its baseline at equal local epochs and rounds, by
  the differences within common seeds; see `settings.pair_with_baselines`.

  Returns:
    The columns `COLUMNS`; NaN where there is no value.
  """
  points = read_points(settings)
  is_count = points['metric'].map(metric_names.is_count).astype(bool)
  points = points[~is_count]
  baselines = dict(settings_lib.pair_with_baselines(settings))
  # Targets and metrics in the given order, R/2 before R, shares rising.
  place = points.groupby(['task', 'target', 'metric'], sort=False).ngroup()
  points = points.assign(place=place).sort_values(
    ['place', 'at', 'percent'],
    key=lambda of: of == LAST if of.name == 'at' else of,
    kind='stable',
  )
  lines = {
    key: of.set_index('seed')['mean']
    for key, of in points.groupby(_LINE, sort=False)
  }
  differences = []
  for key, scores in lines.items():
    line = dict(zip(_LINE, key))
    setting = settings_lib.Setting(*map(line.get, settings_lib.Setting._fields))
    differences.append(dict(_NO_PAIR))
    baseline = baselines.get(setting)
    other = tuple({**line, **baseline._asdict()}.values()) if baseline else None
    if other in lines:
      result = method_comparison.compare(
        scores,
        lines[other],
        higher_is_better=metric_names.higher_is_better(line['metric']),
      )
      if result is not None:
        differences[-1]['baseline'] = baseline.method
        for column, field in _DIFFERENCE.items():
          differences[-1][column] = getattr(result, field)
  values = points.set_index(_LINE)
  means, of_tokens = (
    seed_table.over_seeds(values[name], _LINE)
    for name in ('mean', 'all_tokens')
  )
  rows = means.assign(all_tokens=of_tokens['mean']).reset_index()
  rows = pd.concat([rows, pd.DataFrame(differences)], axis=1)
  return rows.reindex(columns=COLUMNS)
