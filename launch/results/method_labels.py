# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Short names for the methods of some runs, telling them apart."""

from collections.abc import Mapping
from collections.abc import Sequence
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

_STRATEGIES = {'ft': 'FT', 'ft_lp': 'FT-LP', 'ft_feat': 'FT-FEAT'}

_ADAPTERS = {'lora': 'LoRA'}
_PARTIAL = 'Partial'
_PRIVATE = 'DP'

_METHOD = 'algorithm.name'
_TASK = 'task.name'
# Labels name fields in this order; the others stand between the two lists. A
# field that those before it settle is left out.
_FIRST = (
  'algorithm.fisher_estimator',
  'algorithm.damping',
  'algorithm.server_optimizer',
  'exchange.sent',
  'exchange.direction',
  'exchange.unsent',
  'local_epochs',
)
_LAST = (
  'rounds',
  'client_learning_rate',
  'server_learning_rate',
  'evaluate_every',
  'checkpoint_every',
)
# What makes FedFish another method is told even where no run has the usual, as
# is what clients send.
_ALWAYS_TOLD = (
  'algorithm.fisher_estimator',
  'algorithm.damping',
  'exchange.sent',
  'exchange.direction',
  'exchange.unsent',
)
# Of these each value is told, the usual one too.
_WITHOUT_USUAL = ('algorithm.server_optimizer', 'algorithm.client_optimizer')
# Each method may have its own: rates are tuned, rounds follow from the epochs.
_OF_THE_METHOD = (
  *_LAST,
  'algorithm.regularization',
  'evaluation.',
  'fine_tuning.',
  'participation.',
  # Where the part of a pretrained network that is trained begins.
  'task.inputs',
)


def label_methods(
  configs: Sequence[Mapping[str, Any]], *, besides: Sequence[str] = ()
) -> list[str]:
  """Returns a label for each config: 'FedFish, per example, server SGD'.

  Args:
    configs: Configs, nested mappings.
    besides: Dotted fields that are told elsewhere, such as `'local_epochs'`;
      configs that differ in them only get the same label.

  Returns:
    The labels. A label is the method's name; the task follows where there are
    several, then the fields in which the configs differ, without those that
    have the configs' usual value and those that the other fields settle.
  """
  fields = [_fields(config) for config in configs]
  labels = [[_unquoted(f[_METHOD])] for f in fields]
  tasks = dict.fromkeys(f[_TASK] for f in fields)
  for task in tasks:
    members = [i for i, f in enumerate(fields) if f[_TASK] == task]
    parts = _tell_apart([fields[i] for i in members], besides)
    for i, part in zip(members, parts):
      if len(tasks) > 1 and _TASK not in besides:
        labels[i].append(_unquoted(task))
      labels[i].extend(part)
  return [', '.join(label) for label in labels]


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


def find_method(name: str) -> method_lib.Method | None:
  """Returns a method; None for one that is not there, whose runs may be.

  Args:
    name: Its name in configs.
  """
  try:
    return registry.find_method(name)
  except errors.InputError:
    return None


def _title(name: str) -> str:
  method = find_method(name)
  return method.title if method else name


def rank_baseline(config: Mapping[str, Any]) -> int:
  """Returns how usual it is to compare others with a config's method.

  Args:
    config: Nested mappings. Fed3R+FT is FedAvg by its algorithm, but more than a
      baseline.

  Returns:
    0 for what is no baseline.
  """
  method = find_method(config['algorithm']['name'])
  start = config.get('fine_tuning', {}).get('start', {}).get('name', 'none')
  return method.baseline if method and start == 'none' else 0


def _fields(config: Mapping[str, Any]) -> dict[str, str]:
  """Returns the fields that tell configs apart, the method by its name."""
  fields = {
    name: repr(value) for name, value in config_checks.flatten(config).items()
  }
  fields[_METHOD] = repr(name_method(config))
  fields.pop('aggregation.rule', None)  # The name has it.
  if 'exchange' in config:
    for name in [n for n in fields if n.startswith('exchange.')]:
      del fields[name]
    fields.update(_exchange_fields(config['exchange']))
  method = find_method(config['algorithm']['name'])
  if method and 'local_epochs' not in method.supports:
    # Always 1.
    fields.pop('local_epochs', None)
  return fields


def _exchange_fields(exchange: Mapping[str, Any]) -> dict[str, str]:
  """Returns what tells exchanges apart, without what a selection ignores."""
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
  return {
    'exchange.sent': repr(sent),
    'exchange.direction': repr(exchange['direction']),
    'exchange.unsent': repr(exchange['unsent']),
  }


def label_tasks(configs: Sequence[Mapping[str, Any]]) -> list[str]:
  """Returns the task of each config, with the options in which they differ."""
  fields = [
    {
      name: repr(value)
      for name, value in config_checks.flatten(config).items()
      if name.startswith('task.')
    }
    for config in configs
  ]
  labels = []
  for one in fields:
    same = [f for f in fields if f[_TASK] == one[_TASK]]
    told = []
    for name in one:
      differs = len({f.get(name) for f in same}) > 1
      if differs and not _settle(same, told, name):
        told.append(name)
    parts = [_describe(name, one[name]) for name in told]
    labels.append(', '.join([_unquoted(one[_TASK]), *parts]))
  return labels


def _tell_apart(
  fields: Sequence[Mapping[str, str]], besides: Sequence[str]
) -> list[list[str]]:
  """Returns what each config of one task is told by, beside its method."""
  usual = {
    name: repr(value)
    for name, value in config_checks.flatten(
      base.create_config('fed_fish').to_dict()
    ).items()
  } | {'exchange.unsent': repr(exchange_lib.SERVER_KEEPS)}
  values = [_with_absent(f, fields) for f in fields]
  told = []
  for name in sorted(dict.fromkeys(n for f in fields for n in f), key=_rank):
    if name in (_METHOD, _TASK, *besides):
      continue
    constant = len({v[name] for v in values if name in v}) < 2
    if constant and name not in _ALWAYS_TOLD:
      continue
    settling = [*told, *besides]
    if name.startswith(_OF_THE_METHOD):
      settling.append(_METHOD)
    if constant or not _settle(values, settling, name):
      told.append(name)
  kept = [
    [
      n
      for n in told
      if n in v and (n in _WITHOUT_USUAL or v[n] != usual.get(n))
    ]
    for v in values
  ]
  texts = [[_describe(n, v[n]) for n in k] for k, v in zip(kept, values)]
  keys = {(v[_METHOD], *(v.get(n) for n in told)) for v in values}
  if len({(v[_METHOD], *t) for v, t in zip(values, texts)}) < len(keys):
    # Two fields share their short name: only whole names tell them apart.
    texts = [[f'{n} {v[n]}' for n in k] for k, v in zip(kept, values)]
  return texts


def _with_absent(
  one: Mapping[str, str], fields: Sequence[Mapping[str, str]]
) -> dict[str, str]:
  """Adds as 'unset' the fields that only others of the same method have."""
  return {
    name: one.get(name, 'unset')
    for f in fields
    if f[_METHOD] == one[_METHOD]
    for name in f
  }


def _settle(
  values: Sequence[Mapping[str, str]], settling: Sequence[str], name: str
) -> bool:
  """Whether configs that agree in the settling fields agree in this one.

  What only some methods have, such as an estimator, settles nothing that
  others have too, but for what is each method's own: rates are tuned for each
  estimator.
  """
  concerned = [v for v in values if name in v]
  if not name.startswith(_OF_THE_METHOD):
    settling = [n for n in settling if all(n in v for v in concerned)]
  seen = {}
  return all(
    seen.setdefault(tuple(v.get(n) for n in settling), v[name]) == v[name]
    for v in concerned
  )


def _rank(name: str) -> tuple[int, int]:
  """Orders fields by how much they say of a method."""
  if name in _FIRST:
    return 0, _FIRST.index(name)
  if name in _LAST:
    return 3, _LAST.index(name)
  return (1 if name.startswith('algorithm.') else 2), 0


def _describe(name: str, value: str) -> str:
  """Returns a field and its value as a label has them: 'server SGD'."""
  value = _unquoted(value)
  if name == 'participation.name':
    return participation.POLICIES[value].title
  short = name.rpartition('.')[2]
  if short.endswith('_optimizer'):
    if value in optimizers.OPTIMIZERS:
      value = optimizers.OPTIMIZERS[value].title
    return f'{short.removesuffix("_optimizer")} {value}'
  value = value.replace('_', ' ')
  if value != 'unset':
    if short == 'fisher_estimator':
      return value
    if name.startswith('exchange.'):
      return value
    if name == 'local_epochs':
      return count(value, 'local epoch')
    if name == 'rounds':
      return count(value, 'round')
  short = short.removeprefix('fisher_').replace('_', ' ')
  return f'{short} {value}'


def count(number: int | str, what: str) -> str:
  """Returns a number and what it counts: '1 local epoch', '8 local epochs'."""
  return f'{number} {what}' if str(number) == '1' else f'{number} {what}s'


def _unquoted(text: str) -> str:
  return text.strip("'")
