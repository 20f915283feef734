# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs by task, method and local epochs, as the paper's figures show them."""

from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any
from typing import NamedTuple

from launch.results import frames as frames_lib
from launch.results import method_labels

import pandas as pd

# Fields that follow from tuning or local epochs do not distinguish methods.
_UNCOUNTED = (
  'rounds',
  'evaluate_every',
  'client_learning_rate',
  'server_learning_rate',
)


class Setting(NamedTuple):
  """One method at one number of local epochs and rounds, with several seeds.

  Attributes:
    task: The task, with its differences from others of its name.
    method: The method, with its differences from others except local epochs,
      rounds and their consequences.
    local_epochs: The number of local epochs per client and round.
    rounds: The configured number of rounds.
  """

  task: str
  method: str
  local_epochs: int
  rounds: int

  @property
  def total_epochs(self) -> int:
    return self.local_epochs * self.rounds


# The runs of each setting, ordered by task and method as given, then by epochs.
Settings = Mapping[Setting, frames_lib.Frames]


def read_settings(frames: frames_lib.Frames) -> Settings:
  """Returns the settings of labelled runs.

  Args:
    frames: The labelled runs; a run without local epochs counts as one epoch
      per round.
  """
  groups = list(frames.groups().values())
  firsts = frames.runs.drop_duplicates('label')
  fields = {name for of in firsts['fields'] for name in of}
  methods = frames_lib.name_methods(
    frames,
    firsts,
    [
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
  """Returns the runs of all settings, of which there is at least one."""
  return pd.concat([frames.runs for frames in settings.values()])


def unique(values: Iterable[Hashable]) -> list:
  """Returns the distinct values in the order of their first appearance."""
  return list(dict.fromkeys(values))


def fixed_rounds(settings: Settings) -> Settings:
  """Returns each task's settings with equal rounds and several local epochs.

  Returns:
    The settings with the number of rounds that most numbers of local epochs
    share, the larger number on a tie; none of a task where no two share one.
  """
  return _select(settings, lambda s: s.rounds, lambda s, n: s.rounds == n)


def fixed_compute(settings: Settings) -> Settings:
  """Returns each task's settings with equal totals of local epochs.

  Totals count as equal if they differ by less than the epochs of one round,
  since rounds are whole. See `fixed_rounds`.
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
  """Returns the largest set of agreeing settings of each task."""
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
  """Returns pairs of settings of methods and of their baselines.

  Both settings of a pair have equal local epochs and rounds. A method's
  baseline is the FedAvg, or without one the FedSGD, that shares most fields
  with it, such as the server optimizer. Only a FedAvg that sends all weights is
  a baseline, if there is one.
  """
  first = {}
  for setting, frames in settings.items():
    first.setdefault(setting[:2], frames.runs.iloc[0])
  pairs = []
  for setting in settings:
    of_task = {m: run for (t, m), run in first.items() if t == setting.task}
    best = max(run.baseline for run in of_task.values())
    usual = [m for m, run in of_task.items() if 0 < run.baseline == best]
    if not usual or setting.method in usual:
      continue
    own = of_task[setting.method].fields
    name = min(usual, key=lambda m: _distance(of_task[m].fields, own))
    if (other := setting._replace(method=name)) in settings:
      pairs.append((setting, other))
  return pairs


def _distance(one: Mapping[str, Any], other: Mapping[str, Any]) -> int:
  """Returns the number of common fields in which two configs differ."""
  return sum(
    one[name] != other[name]
    for name in one
    if name in other and name not in _UNCOUNTED
  )
