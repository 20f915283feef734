# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs by task, method and local epochs, as the paper's figures show them.

A setting is one method at one number of local epochs and rounds, with several
seeds, whose runs share a label.
"""

from fedfish_tff import errors
from launch.results import frames as frames_lib
from launch.results import method_comparison
from launch.results import run_labels

import pandas as pd

COLUMNS = ('task', 'method', 'local_epochs', 'rounds', 'total_epochs')
_RATE = 'server_learning_rate'


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
  """
  firsts = frames.runs.drop_duplicates('label').set_index('label')
  fields = {name for of in firsts['fields'] for name in of}
  of_tasks = sorted(name for name in fields if name.startswith('task.'))
  configs = firsts['config']
  elsewhere = ['local_epochs', 'rounds', *of_tasks]
  methods = run_labels.label_methods(firsts, besides=[*elsewhere, _RATE])
  rates = configs.map(lambda of: of.get(_RATE)).groupby(methods)
  told = pd.DataFrame(
    {
      'task': run_labels.label_tasks(firsts),
      'method': methods,
      'local_epochs': [of.get('local_epochs') or 1 for of in configs],
      'rounds': [of['rounds'] for of in configs],
    },
    firsts.index,
  ).assign(total_epochs=lambda of: of['local_epochs'] * of['rounds'])
  if rates.nunique().gt(1).any() and not told.duplicated().any():
    # It is tuned for each number of local epochs.
    elsewhere.append(_RATE)
  told['method'] = frames_lib.name_methods(frames, firsts, elsewhere)
  if told.duplicated().any():
    raise errors.InputError(
      f'--names must keep methods apart, got {sorted(told["method"])}.'
    )
  runs = frames.runs.drop(columns='task').join(told, on='label')
  return frames.of(
    runs.sort_values(
      list(COLUMNS),
      # Text has another dtype in each version of pandas.
      key=lambda of: (
        of if pd.api.types.is_numeric_dtype(of) else pd.factorize(of)[0]
      ),
    )
  )


def describe(settings: frames_lib.Frames) -> pd.DataFrame:
  """Returns the `COLUMNS` of each setting, by label."""
  firsts = settings.runs.drop_duplicates('label')
  return firsts.set_index('label')[list(COLUMNS)]


def pair_with_baselines(settings: frames_lib.Frames) -> dict[str, str]:
  """Returns the label of the baseline of each setting that has one, by label.

  Both settings of a pair have equal local epochs and rounds.
  `method_comparison` finds the baselines.
  """
  pairs = {}
  for _, of_task in settings.runs.groupby('task', sort=False):
    firsts = of_task.drop_duplicates('label').set_index('label')
    runs = {label: run for label, run in firsts.iterrows()}
    usual = method_comparison.find_baselines(runs)
    for label, run in runs.items():
      alike = [
        other
        for other in usual
        if label not in usual
        and runs[other].local_epochs == run.local_epochs
        and runs[other].rounds == run.rounds
      ]
      if alike:
        pairs[label] = method_comparison.find_nearest(run, alike, runs)
  return pairs
