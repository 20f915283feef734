# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs as the paper's figures arrange them: tasks, methods, local epochs."""

from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any
from typing import NamedTuple

from launch.results import frames as frames_lib
from launch.results import method_labels

import pandas as pd

# What follows from the tuning and the local epochs makes no method another.
_UNCOUNTED = (
  'rounds',
  'evaluate_every',
  'client_learning_rate',
  'server_learning_rate',
)


class Setting(NamedTuple):
  """One method at one number of local epochs and rounds, with several seeds.

  Attributes:
    task: The task, with what tells it from others of its name.
    method: The method, with what tells it from others but for local epochs,
      rounds and what follows from them.
    local_epochs: The local epochs of a client in a round.
    rounds: The rounds that the runs are to have.
  """

  task: str
  method: str
  local_epochs: int
  rounds: int

  @property
  def total_epochs(self) -> int:
    return self.local_epochs * self.rounds


# The runs of each setting: by task and method as given, epochs rising.
Settings = Mapping[Setting, frames_lib.Frames]


def read_settings(frames: frames_lib.Frames) -> Settings:
  """Returns the settings of labelled runs.

  Args:
    frames: Labelled runs; one without local epochs counts as one epoch a round.
  """
  groups = list(frames.groups().values())
  firsts = frames.runs.drop_duplicates('label')
  fields = {name for of in firsts['fields'] for name in of}
  methods = method_labels.label_methods(
    firsts,
    besides=[
      'local_epochs',
      'rounds',
      *sorted(name for name in fields if name.startswith('task.')),
    ],
  )
  tasks = method_labels.label_tasks(firsts)
  configs = firsts['config']
  found = {
    Setting(
      task, method, config.get('local_epochs') or 1, config['rounds']
    ): group
    for task, method, config, group in zip(tasks, methods, configs, groups)
  }
  tasks, methods = unique(tasks), unique(methods)
  in_order = sorted(
    found, key=lambda s: (tasks.index(s[0]), methods.index(s[1]), *s[2:])
  )
  return {setting: found[setting] for setting in in_order}


def runs(settings: Settings) -> pd.DataFrame:
  """Returns the runs of all settings; one setting at least."""
  return pd.concat([frames.runs for frames in settings.values()])


def unique(values: Iterable[Hashable]) -> list:
  """Returns the distinct values in the order of their first appearance."""
  return list(dict.fromkeys(values))


def fixed_rounds(settings: Settings) -> Settings:
  """Returns, of each task, settings with equal rounds and several epochs.

  Args:
    settings: Settings.

  Returns:
    Those with the number of rounds that most numbers of local epochs share,
    the larger of two; none of a task where no two share one.
  """
  return _select(settings, lambda s: s.rounds, lambda s, n: s.rounds == n)


def fixed_compute(settings: Settings) -> Settings:
  """Returns, of each task, settings with equal totals of local epochs.

  Totals are equal where they differ by less than the epochs of one round, since
  rounds are whole. See `fixed_rounds`.
  """
  return _select(
    settings,
    lambda s: s.total_epochs,
    lambda s, total: abs(s.total_epochs - total) < s.local_epochs,
  )


def _select(
  settings: Settings,
  value: Callable[[Setting], int],
  agrees: Callable[[Setting, int], bool],
) -> Settings:
  """Returns the largest sets of settings that agree, task by task."""
  kept = set()
  for task in unique(s.task for s in settings):
    of_task = [s for s in settings if s.task == task]
    sets = {
      n: [s for s in of_task if agrees(s, n)] for n in map(value, of_task)
    }
    epochs, _, best = max(
      (len({s.local_epochs for s in of}), len(of), n) for n, of in sets.items()
    )
    kept.update(sets[best] if epochs > 1 else ())
  return {s: frames for s, frames in settings.items() if s in kept}


def pair_with_baselines(settings: Settings) -> list[tuple[Setting, Setting]]:
  """Returns settings with their baselines' of equal local epochs and rounds.

  A method's baseline is the FedAvg (where there is none, the FedSGD) that
  shares most fields with it: that with its server optimizer, for example. Of
  FedAvgs those that send all of their weights are baselines, if there are any.

  Args:
    settings: Settings.
  """
  first = {}
  for setting, frames in settings.items():
    first.setdefault(setting[:2], frames.runs.iloc[0])
  pairs = []
  for setting in settings:
    of_task = {m: run for (t, m), run in first.items() if t == setting.task}
    best = max(run.baseline for run in of_task.values())
    usual = [m for m, run in of_task.items() if best and run.baseline == best]
    usual = [m for m in usual if 'exchange' not in of_task[m].config] or usual
    if not usual or setting.method in usual:
      continue
    own = of_task[setting.method].fields
    name = min(usual, key=lambda m: _distance(of_task[m].fields, own))
    if (other := setting._replace(method=name)) in settings:
      pairs.append((setting, other))
  return pairs


def _distance(one: Mapping[str, Any], other: Mapping[str, Any]) -> int:
  """Returns in how many fields that both have two configs differ."""
  return sum(
    one[name] != other[name]
    for name in one
    if name in other and name not in _UNCOUNTED
  )
