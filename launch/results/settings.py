# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs by task, method and local epochs, as the paper's figures show them.

A setting is one method at one number of local epochs and rounds, with several
seeds, whose runs share a label.
"""

from collections.abc import Mapping
from typing import Any

from fedfish_tff import errors
from launch.results import frames as frames_lib
from launch.results import method_labels

import pandas as pd

COLUMNS = ('task', 'method', 'local_epochs', 'rounds', 'total_epochs')
# Fields that follow from tuning or local epochs do not distinguish methods.
_UNCOUNTED = (
  'rounds',
  'evaluate_every',
  'client_learning_rate',
  'server_learning_rate',
)


def read_settings(frames: frames_lib.Frames) -> frames_lib.Frames:
  """Adds the columns of settings to labelled runs.

  Args:
    frames: The labelled runs; a run without local epochs counts as one epoch
      per round.

  Returns:
    The runs, ordered by task and method as given, then by epochs. They have
    `task`, with its differences from others of its name; `method`, with its
    differences from others except local epochs, rounds and their consequences;
    `local_epochs`, the number per client and round; `rounds`, the configured
    number; and `total_epochs`, the product of both.

  Raises:
    errors.InputError: If a name unites two methods.
  """
  firsts = frames.runs.drop_duplicates('label').set_index('label')
  fields = {name for of in firsts['fields'] for name in of}
  of_tasks = sorted(name for name in fields if name.startswith('task.'))
  configs = firsts['config']
  told = pd.DataFrame(
    {
      'task': method_labels.label_tasks(firsts),
      'method': frames_lib.name_methods(
        frames, firsts, ['local_epochs', 'rounds', *of_tasks]
      ),
      'local_epochs': [of.get('local_epochs') or 1 for of in configs],
      'rounds': [of['rounds'] for of in configs],
    },
    firsts.index,
  ).assign(total_epochs=lambda of: of['local_epochs'] * of['rounds'])
  if told.duplicated().any():
    raise errors.InputError(
      f'--names must keep methods apart, got {sorted(told["method"])}.'
    )
  runs = frames.runs.drop(columns='task').join(told, on='label')
  return frames.of(
    runs.sort_values(
      list(COLUMNS),
      key=lambda of: pd.factorize(of)[0] if of.dtype == object else of,
    )
  )


def describe(settings: frames_lib.Frames) -> pd.DataFrame:
  """Returns the `COLUMNS` of each setting, by label."""
  firsts = settings.runs.drop_duplicates('label')
  return firsts.set_index('label')[list(COLUMNS)]


def fixed_rounds(settings: frames_lib.Frames) -> frames_lib.Frames:
  """Returns each task's settings with equal rounds and several local epochs.

  Returns:
    The settings with the number of rounds that most numbers of local epochs
    share, the larger number on a tie; none of a task where no two share one.
  """
  return _select(settings, 'rounds', tolerance=False)


def fixed_compute(settings: frames_lib.Frames) -> frames_lib.Frames:
  """Returns each task's settings with equal totals of local epochs.

  Totals count as equal if they differ by less than the epochs of one round,
  since rounds are whole. See `fixed_rounds`.
  """
  return _select(settings, 'total_epochs', tolerance=True)


def _select(
  settings: frames_lib.Frames, column: str, *, tolerance: bool
) -> frames_lib.Frames:
  """Returns the largest set of each task's settings that agree in a column."""
  kept = []
  for _, of_task in describe(settings).groupby('task'):
    allowed = of_task['local_epochs'] if tolerance else 1
    sets = []
    for number in of_task[column].unique():
      found = of_task[(of_task[column] - number).abs() < allowed]
      sets.append((found['local_epochs'].nunique(), len(found), number, found))
    epochs, *_, best = max(sets, key=lambda of: of[:3])
    if epochs > 1:
      kept += list(best.index)
  return settings.of(settings.runs[settings.runs['label'].isin(kept)])


def pair_with_baselines(settings: frames_lib.Frames) -> dict[str, str]:
  """Returns the label of the baseline of each setting that has one, by label.

  Both settings of a pair have equal local epochs and rounds. A method's
  baseline is the FedAvg, or without one the FedSGD, that shares most fields
  with it, such as the server optimizer. Only a FedAvg that sends all weights is
  a baseline, if there is one.
  """
  pairs = {}
  for _, of_task in settings.runs.groupby('task', sort=False):
    methods = of_task.drop_duplicates('method').set_index('method')
    ranks, fields = methods['baseline'], methods['fields']
    usual = methods.index[(ranks > 0) & (ranks == ranks.max())]
    at = ['method', 'local_epochs', 'rounds']
    labels = of_task.drop_duplicates('label').set_index(at)['label'].to_dict()
    for (method, *numbers), label in labels.items():
      if len(usual) and method not in usual:
        other = min(usual, key=lambda m: _distance(fields[m], fields[method]))
        if (other, *numbers) in labels:
          pairs[label] = labels[other, *numbers]
  return pairs


def _distance(one: Mapping[str, Any], other: Mapping[str, Any]) -> int:
  """Returns the number of common fields in which two configs differ."""
  return sum(
    one[name] != other[name]
    for name in one
    if name in other and name not in _UNCOUNTED
  )
