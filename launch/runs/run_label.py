# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Notes on a run's method, for tables and figures.

This is plain Python; only the task needs TensorFlow.
"""

from __future__ import annotations

from collections.abc import Mapping
import typing
from typing import Any

from fedfish_tff import fields
from launch import json_config
from launch.configs import base
from launch.methods import block as block_lib
from launch.methods import config as config_lib
from launch.methods import declared
from launch.methods import exchange as exchange_lib
from launch.methods import fine_tuning
from launch.methods import registry

if typing.TYPE_CHECKING:
  from tasks.task import Task

# The fields of an exchange that `exchange.sent` describes together.
_SENT = (
  'selection',
  'share',
  'threshold',
  'normalize',
  'group_by',
  'coordinate_score',
)


def describe(config: config_lib.Config, task: Task) -> dict[str, Any]:
  """Returns the notes of `describe_method`, and how the run is judged.

  Args:
    config: The config.
    task: The task.

  Returns:
    JSON values, including `task`, the task's title; `clients`, the number of
    clients by split; `metric`, `higher_is_better` and `judged_by`, the prefix
    of the columns that judge the run.
  """
  return {
    **describe_method(config),
    'task': task.title,
    'clients': {
      split: len(getattr(task, split).client_ids)
      for split in ('train', 'validation', 'test')
    },
    'metric': task.metric,
    'higher_is_better': task.higher_is_better,
    'judged_by': judged_by(config, task),
  }


def judged_by(config: config_lib.Config, task: Task) -> str:
  """Returns the group of columns of held-out clients that judges a run.

  `evaluation.judged_by` chooses the model, and the task the data: those of
  clients' own test data, if it has any.

  Args:
    config: The config.
    task: The task.
  """
  chosen = config.evaluation.judged_by
  # A held-out client gets a model of its own by its first training.
  if chosen == 'auto' and not declared.has_one_model(config):
    chosen = 'fine_tuned'
  tuned = (
    chosen == 'fine_tuned' and config.evaluation.personalization_epochs > 0
  )
  if task.own_test is not None:
    return 'new_fine_tuned' if tuned else 'new_global'
  return 'personalized' if tuned else 'global'


def describe_method(config: config_lib.Config) -> dict[str, Any]:
  """Returns notes on a config's method for labels and comparisons.

  Args:
    config: The config.

  Returns:
    JSON values: its `title`, and `deviations`, the words at its end for what
    differs from the published form, by dotted name; `baseline`, its rank among
    the usual baselines, not positive for none, and lower if clients send a
    part; `one_model`, whether all clients end up with one model; `told`, the
    words, by dotted name, for each field with an unusual value; `untold`, the
    names of the fields that the title or other words tell; and `settled`, the
    names of the fields whose values follow from the method and the blocks.
  """
  method = config.method
  flat = json_config.flatten(config.values)
  untold = ['algorithm.name', 'aggregation.rule']
  if 'local_epochs' not in method.supports and config.local_epochs == 1:
    untold.append('local_epochs')
  deviations = registry.deviations(config)
  if getattr(config.algorithm, 'server_optimizer', '') in method.server_titles:
    untold.append('algorithm.server_optimizer')
  if 'exchange' in config.blocks:
    untold += [f'exchange.{field}' for field in _SENT]
  usual = json_config.flatten(base.create_config('fed_fish').to_dict())
  own = json_config.flatten({'algorithm': fields.defaults(method.fields)})
  usual |= {field: value for field, value in own.items() if field in usual}
  # The name of a block tells the values that it needs.
  needed = registry.needed_by_blocks(config)
  untold += [
    field
    for field, values in needed.items()
    if len(values) == 1 and flat.get(field) != own.get(field, flat.get(field))
  ]
  usual['exchange.unsent'] = exchange_lib.SERVER_KEEPS
  return {
    'title': registry.label(config),
    'deviations': deviations,
    'baseline': _rank_baseline(config),
    'one_model': declared.has_one_model(config),
    'told': {
      field: deviations.get(field) or _describe(field, value)
      for field, value in flat.items()
      if field not in untold
      and (field not in usual or repr(value) != repr(usual[field]))
    },
    'untold': untold,
    'settled': _settled(config, flat),
  }


def _settled(config: config_lib.Config, flat: Mapping[str, Any]) -> list[str]:
  """Returns the fields that lack of support, or a rule of a block, settles."""
  found = set(registry.only_values(config.method))
  for block in block_lib.blocks_of(config):
    own = config.blocks[block.name]
    rules = [rule for rule in block.goes_with if rule.holds(own)]
    found |= {rule.field for rule in rules if rule.values}
  if not config.method.chooses_fine_tuning_rate:
    found.add(config_lib.FINE_TUNING_RATES)
  # A closed form has as many rounds as it takes to visit all clients.
  if 'participation.name' in found:
    found.add('rounds')
  return sorted(found & {*flat})


def _rank_baseline(config: config_lib.Config) -> int:
  # Fed3R+FT is FedAvg by its algorithm, but more than a baseline.
  rank = 0 if fine_tuning.has_start(config) else config.method.baseline
  server = getattr(config.algorithm, 'server_optimizer', 'sgd')
  # A method that sends a part is compared with one that sends all, and one with
  # other steps at the server with the plain one.
  return 4 * rank - 2 * ('exchange' in config.blocks) - (server != 'sgd')


def _describe(name: str, value: Any) -> str:
  """Returns the words of a label for a field and its value: 'n0 8'."""
  short = name.rpartition('.')[2]
  text = str(value).replace('_', ' ')
  if name in ('local_epochs', 'rounds'):
    what = name.removesuffix('s').replace('_', ' ')
    return f'{text} {what}' if text == '1' else f'{text} {what}s'
  return f'{short.replace("_", " ")} {text}'
