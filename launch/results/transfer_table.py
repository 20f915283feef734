# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A table of transfer scores of several workdirs, with differences by seed."""

from fedfish_tff.evaluation import metric_names
from launch.results import frames as frames_lib
from launch.results import method_comparison
from launch.results import run_reader
from launch.results import seed_table
from launch.results import settings as settings_lib

import numpy as np
import pandas as pd

# The half-way and the last model, as in the paper's figure. The model of a run,
# which may be the best one, counts as the last one.
HALF, LAST = 'R/2', 'R'
# A row is one method on one target. The difference of the means over clients is
# to the baseline, within common seeds; its 95 % bootstrap interval is from low
# to high.
_POINT = ['at', 'percent', 'metric']
_LINE = ['task', 'target', 'method', 'local_epochs', 'rounds', *_POINT]
# The number of diverged seeds, and that of diverged clients of all seeds.
_DIVERGED = ['diverged', 'num_diverged']
_SCORES = ['seeds', *_DIVERGED, 'mean', 'deviation', 'all_tokens']
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


def read_points(settings: frames_lib.Frames) -> pd.DataFrame:
  """Returns all scores at half of the rounds and at the end.

  Returns:
    A row per run and score: the columns of the run's setting, `label`, `at`
    (R/2 or R), `seed`, and those of `run_reader.TransferScore` without its
    round. Scores that have diverged are infinite.
  """
  scores = settings.transfer.reindex(columns=run_reader.TransferScore._fields)
  told = settings.runs[[*settings_lib.COLUMNS, 'label', 'seed', 'model_round']]
  points = told.join(scores, how='inner').reset_index(drop=True)
  of_round = points.pop('round')
  last = points.pop('model_round').astype(float).fillna(points['rounds'])
  points['at'] = np.select(
    [of_round == last, of_round == points['rounds'] // 2], [LAST, HALF], ''
  )
  return points[(points['at'] != '') & points['mean'].notna()]


def transfer_rows(settings: frames_lib.Frames) -> pd.DataFrame:
  """Returns a row per target, metric, round, share, method and local epochs.

  A method is compared with its baseline at equal local epochs and rounds, by
  the differences within common seeds; `settings.pair_with_baselines` finds it.
  Before fine-tuning, methods whose global model is only a start for clients'
  models are not compared.

  Returns:
    The columns `COLUMNS`; NaN where there is no value.
  """
  points = read_points(settings)
  is_count = points['metric'].map(metric_names.is_count).astype(bool)
  points = points[~is_count]
  # Targets and metrics in the given order, R/2 before R, shares rising.
  place = points.groupby(['task', 'target', 'metric'], sort=False).ngroup()
  points = points.assign(place=place).sort_values(
    ['place', 'at', 'percent'],
    key=lambda of: of == LAST if of.name == 'at' else of,
    kind='stable',
  )
  lines = {
    key: of.set_index('seed')['mean']
    for key, of in points.groupby(['label', 'target', *_POINT], sort=False)
  }
  methods = settings_lib.describe(settings)['method']
  baselines = settings_lib.pair_with_baselines(settings)
  groups = settings.groups()
  differences = []
  for (label, *point), scores in lines.items():
    differences.append(dict(_NO_PAIR))
    baseline = baselines.get(label)
    other = lines.get((baseline, *point))
    _, _, percent, metric = point
    before = f'{run_reader.FEW_SHOT_COLUMNS[0]}/{metric}'
    if (
      baseline
      and percent == 0
      and not method_comparison.are_results(groups, (label, baseline), before)
    ):
      differences[-1]['note'] = "a start for clients' models"
    elif other is not None:
      result = method_comparison.compare(
        scores,
        other,
        higher_is_better=frames_lib.higher_is_better(settings.runs, metric),
      )
      if result is not None:
        differences[-1]['baseline'] = methods[baseline]
        for column, field in _DIFFERENCE.items():
          differences[-1][column] = getattr(result, field)
  values = points.set_index(_LINE)
  means, of_tokens = (
    seed_table.over_seeds(values[name], _LINE)
    for name in ('mean', 'all_tokens')
  )
  clients = values['num_diverged'].groupby(_LINE, sort=False).sum()
  rows = means.assign(
    all_tokens=of_tokens['mean'], num_diverged=clients
  ).reset_index()
  rows = pd.concat([rows, pd.DataFrame(differences)], axis=1)
  return rows.reindex(columns=COLUMNS)
