# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs as the paper's figures arrange them: tasks, methods, local epochs."""

from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from launch.methods import config_checks
from launch.results import method_labels
from launch.results import run_reader

# Of runs whose clients send a part of their weights.
_EXCHANGE = 'exchange.selection'
# What follows from the tuning and the local epochs makes no method another.
_UNCOUNTED = (
  'rounds',
  'evaluate_every',
  'client_learning_rate',
  'server_learning_rate',
)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Setting:
  """The seeds of one method at one number of local epochs and rounds.

  Attributes:
    task: The task, with what tells it from others of its name.
    method: The method, with what tells it from others but for local epochs,
      rounds and what follows from them.
    local_epochs: Of a client in a round.
    rounds: That the runs are to have.
    runs: A run a seed, seeds rising.
  """

  task: str
  method: str
  local_epochs: int
  rounds: int
  runs: Sequence[run_reader.Run]

  @property
  def total_epochs(self) -> int:
    return self.local_epochs * self.rounds


def read_settings(runs: Sequence[run_reader.Run]) -> list[Setting]:
  """Returns the runs' settings: by task and method as given, epochs rising."""
  groups = list(run_reader.group_runs(runs).values())
  configs = [group[0].told_config for group in groups]
  fields = {name for c in configs for name in config_checks.flatten(c)}
  methods = method_labels.label_methods(
    configs,
    besides=[
      'local_epochs',
      'rounds',
      *sorted(name for name in fields if name.startswith('task.')),
    ],
  )
  tasks = method_labels.label_tasks(configs)
  found = [
    Setting(
      task=task,
      method=method,
      local_epochs=int(config['local_epochs']),
      rounds=int(config['rounds']),
      runs=group,
    )
    for task, method, config, group in zip(tasks, methods, configs, groups)
  ]
  task_order = unique(s.task for s in found)
  method_order = unique(s.method for s in found)
  return sorted(
    found,
    key=lambda s: (
      task_order.index(s.task),
      method_order.index(s.method),
      s.local_epochs,
      s.rounds,
    ),
  )


def unique(values: Iterable[Hashable]) -> list:
  """Returns the distinct values in the order of their first appearance."""
  return list(dict.fromkeys(values))


def fixed_rounds(settings: Sequence[Setting]) -> list[Setting]:
  """Returns, of each task, settings with equal rounds and several epochs.

  Args:
    settings: As `read_settings` returns them.

  Returns:
    Those with the number of rounds that most numbers of local epochs share,
    the larger of two; none of a task where no two share one.
  """
  return _select(settings, lambda setting, rounds: setting.rounds == rounds)


def fixed_compute(settings: Sequence[Setting]) -> list[Setting]:
  """Returns, of each task, settings with equal totals of local epochs.

  Totals are equal where they differ by less than the epochs of one round, since
  rounds are whole. See `fixed_rounds`.
  """
  return _select(
    settings,
    lambda setting, rounds_of_one_epoch: (
      abs(setting.total_epochs - rounds_of_one_epoch) < setting.local_epochs
    ),
    total=True,
  )


def _select(
  settings: Sequence[Setting],
  agrees: Callable[[Setting, int], bool],
  total: bool = False,
) -> list[Setting]:
  """Returns the largest sets of settings that agree, task by task."""
  kept = []
  for task in unique(s.task for s in settings):
    of_task = [s for s in settings if s.task == task]
    candidates = {s.total_epochs if total else s.rounds for s in of_task}
    sets = {
      value: [s for s in of_task if agrees(s, value)] for value in candidates
    }

    def size(value: int, sets=sets) -> tuple[int, int, int]:
      epochs = len({s.local_epochs for s in sets[value]})
      return epochs, len(sets[value]), value

    best = max(candidates, key=size)
    if size(best)[0] > 1:
      kept.extend(sets[best])
  return kept


def find_baselines(settings: Sequence[Setting]) -> Mapping[str, str]:
  """Returns what each method is compared with, without the baselines.

  A method's baseline is the FedAvg (where there is none, the FedSGD) that
  shares most fields with it: that with its server optimizer, for example. Of
  FedAvgs those that send all of their weights are baselines, if there are any.

  Args:
    settings: Of one task.
  """
  configs, ranks = {}, {}
  for setting in settings:
    config = setting.runs[0].config
    configs.setdefault(setting.method, config_checks.flatten(config))
    ranks.setdefault(setting.method, method_labels.rank_baseline(config))
  best = max(ranks.values(), default=0)
  candidates = [m for m, rank in ranks.items() if rank and rank == best]
  candidates = [
    m for m in candidates if _EXCHANGE not in configs[m]
  ] or candidates
  found = {}
  for method, config in configs.items():
    if method not in candidates and candidates:
      found[method] = min(
        candidates, key=lambda m, c=config: _distance(configs[m], c)
      )
  return found


def _distance(one: Mapping, other: Mapping) -> int:
  """Returns in how many fields that both have two configs differ."""
  return sum(
    one[name] != other[name]
    for name in one
    if name in other and name not in _UNCOUNTED
  )
