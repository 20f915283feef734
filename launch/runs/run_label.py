# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Notes of a run on its method, for tables and figures of it.

Plain Python, without TensorFlow, which comes with the task.
"""

from __future__ import annotations

from collections.abc import Mapping
import typing
from typing import Any

from fedfish_tff import errors
from launch.configs import base
from launch.methods import aggregation
from launch.methods import compression
from launch.methods import config_checks
from launch.methods import exchange as exchange_lib
from launch.methods import fine_tuning
from launch.methods import method as method_lib
from launch.methods import optimizers
from launch.methods import participation
from launch.methods import registry

if typing.TYPE_CHECKING:
  from tasks.task import Task

_STRATEGIES = {'ft': 'FT', 'ft_lp': 'FT-LP', 'ft_feat': 'FT-FEAT'}
_ADAPTERS = {'lora': 'LoRA'}
_PARTIAL = 'Partial'
_PRIVATE = 'DP'
# Of these each value is told, the usual one too.
_WITHOUT_USUAL = ('algorithm.server_optimizer', 'algorithm.client_optimizer')
# Of an exchange, what `exchange.sent` says in other words.
_SENT = (
  'selection',
  'share',
  'threshold',
  'normalize',
  'group_by',
  'coordinate_score',
)


def describe(config: Mapping[str, Any], task: Task) -> dict[str, Any]:
  """Returns what `describe_method` does, and what decides how good a run is.

  Args:
    config: Nested mappings.
    task: The task.

  Returns:
    JSON values: also `metric`, `higher_is_better` and `judged_by`, the prefix
    of the columns of the clients whose scores count.
  """
  return {
    **describe_method(config),
    'metric': task.metric,
    'higher_is_better': task.higher_is_better,
    'judged_by': judged_by(config, task),
  }


def judged_by(config: Mapping[str, Any], task: Task) -> str:
  """Returns whose scores on held-out clients count, a prefix of columns.

  Args:
    config: Nested mappings.
    task: The task.
  """
  if task.own_test is not None:
    return 'unseen'
  if (
    registry.method_of(config).personalizes
    and config['evaluation']['personalization_epochs']
  ):
    return 'personalized'
  return 'global'


def describe_method(config: Mapping[str, Any]) -> dict[str, Any]:
  """Returns what labels and comparisons have to know of a config's method.

  Args:
    config: Nested mappings.

  Returns:
    JSON values: its `title`; `order`, its place among the methods; `baseline`,
    how usual it is to compare others with it, 0 for not at all; `one_model`,
    whether all clients end up with one; `told`, the words for each field, by
    dotted name, that has another than the usual value; and `untold`, the names
    of the fields that the title or other words tell.
  """
  method = _find_method(config['algorithm']['name'])
  own = list(registry.own_methods())
  name = config['algorithm']['name']
  flat = config_checks.flatten(config)
  untold = ['algorithm.name', 'aggregation.rule']
  if method and 'local_epochs' not in method.supports:
    untold.append('local_epochs')  # Always 1.
  if 'exchange' in config:
    untold += [f'exchange.{field}' for field in _SENT]
    flat['exchange.sent'] = _describe_sent(config['exchange'])
  usual = config_checks.flatten(base.create_config('fed_fish').to_dict()) | {
    'exchange.unsent': exchange_lib.SERVER_KEEPS
  }
  return {
    'title': name_method(config),
    'order': own.index(name) if name in own else len(own),
    # Fed3R+FT is FedAvg by its algorithm, but more than a baseline.
    'baseline': method.baseline
    if method and not fine_tuning.has_start(config)
    else 0,
    'one_model': method is not None
    and not registry.clients_keep_models(config)
    and not method.personalizes,
    'told': {
      field: _describe(field, value)
      for field, value in flat.items()
      if field not in untold
      and (
        field in _WITHOUT_USUAL
        or field not in usual
        or repr(value) != repr(usual[field])
      )
    },
    'untold': untold,
  }


def name_method(config: Mapping[str, Any]) -> str:
  """Returns the name of a config's method: 'FedFish', 'Fed3R+FT-LP'.

  Args:
    config: Nested mappings.
  """
  algorithm = config['algorithm']['name']
  name = _title(algorithm)
  if 'adapters' in config:
    name = f'{_ADAPTERS[config["adapters"]["name"]]} {name}'
  if 'exchange' in config:
    name = f'{_PARTIAL} {name}'
  if 'aggregation' in config:
    name = f'{aggregation.TITLES[config["aggregation"]["rule"]]} {name}'
  if 'compression' in config:
    name = f'{compression.TITLE} {name}'
  if 'privacy' in config:
    name = f'{_PRIVATE}-{name}'
  if 'fine_tuning' not in config:
    return name
  strategy = config['fine_tuning']['strategy']
  start = config['fine_tuning']['start']['name']
  if start == fine_tuning.NO_START:
    return name if strategy == 'ft' else f'{name}-{_STRATEGIES[strategy][3:]}'
  fine_tuned = f'{_title(start)}+{_STRATEGIES[strategy]}'
  return fine_tuned if algorithm == 'fed_avg' else f'{fine_tuned} by {name}'


def _find_method(name: str) -> method_lib.Method | None:
  """Returns a method; None for one that is not there."""
  try:
    return registry.find_method(name)
  except errors.InputError:
    return None


def _title(name: str) -> str:
  method = _find_method(name)
  return method.title if method else name


def _describe_sent(exchange: Mapping[str, Any]) -> str:
  """Returns what is sent, without what a selection ignores."""
  selection, score = exchange['selection'], exchange['coordinate_score']
  sent = f'share {exchange["share"]:g}'
  if selection == 'coordinates':
    sent += ' of coordinates'
    if score != 'change':
      sent += f' by {score}'
  else:
    if selection == 'threshold':
      sent = f'threshold {exchange["threshold"]:g}'
    if exchange['group_by'] == 'layer':
      sent += ' of layers'
    if exchange['normalize']:
      sent += ', normalized'
  return sent


def _describe(name: str, value: Any) -> str:
  """Returns a field and its value as a label has them: 'server SGD'."""
  if name == 'participation.name':
    return participation.POLICIES[value].title
  short = name.rpartition('.')[2]
  if short.endswith('_optimizer'):
    if value in optimizers.OPTIMIZERS:
      value = optimizers.OPTIMIZERS[value].title
    return f'{short.removesuffix("_optimizer")} {value}'
  text = str(value).replace('_', ' ')
  if name.startswith('exchange.') or short == 'fisher_estimator':
    return text
  if name in ('local_epochs', 'rounds'):
    what = name.removesuffix('s').replace('_', ' ')
    return f'{text} {what}' if text == '1' else f'{text} {what}s'
  return f'{short.removeprefix("fisher_").replace("_", " ")} {text}'
