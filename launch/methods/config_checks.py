# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Readers of configs for launch.train, which check every field.

This is plain Python, without TensorFlow, so that a wrong value is refused at
once.
"""

from collections.abc import Mapping
import dataclasses
from typing import Any

from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import trust as trust_lib
from launch import json_config
from launch.methods import block as block_lib
from launch.methods import config as config_lib
from launch.methods import config_fields
from launch.methods import method as method_lib
from launch.methods import method_notes
from launch.methods import registry
from tasks import registry as task_registry

_WEIGHT_DECAY = 'client_weight_decay'


def read(
  values: Mapping[str, Any], *, trust: trust_lib.Trust = trust_lib.PYTHON
) -> config_lib.Config:
  """Reads a config, checking all fields but the options of foreign tasks.

  Args:
    values: Nested mappings, such as `ConfigDict.to_dict()` or a config.json.
    trust: The trust in the programs that the config names, which modules need.
  """
  values = json_config.with_tuples(values)
  if 'algorithm' not in values:
    raise errors.InputError(
      'A config must have a block algorithm, as config.json of a run has, got '
      f'the fields {", ".join(map(str, values)) or "none"}.'
    )
  fields.block('algorithm', values['algorithm'])
  method = registry.find_method(values['algorithm'].get('name'), trust=trust)
  known = registry.known_blocks(registry.find_other_blocks(values, trust=trust))
  optional = _optional_fields(values, method, known)
  needed = [n for n, block in known.items() if block.in_all_configs]
  blocks = dict.fromkeys(('algorithm', 'task', *needed), fields.block)
  fields.check_block(
    '',
    values,
    {**config_fields.FIELDS, **fields.of_checks({**blocks, **optional})},
    owner=method.name,
  )
  method.check_fields('algorithm.', values['algorithm'])
  _check_task(values['task'])
  config = config_lib.Config(
    values=values,
    method=method,
    **{name: values[name] for name in config_fields.FIELDS},
    algorithm=config_fields.Values.of(values['algorithm']),
    task=values['task'],
    **{
      name: values[name]
      for name in (*method.learning_rates, _WEIGHT_DECAY)
      if name in values
    },
    blocks={
      name: block.read(values[name])
      for name, block in known.items()
      if name in values
    },
    declared=tuple(known[name] for name in known if name in values),
    trust=trust,
  )
  flat = json_config.flatten(values)
  for block in config.declared:
    block.check_rules(config, flat)
  _check_support(config, flat, known)
  method.check(config)
  _check_weight_decay(config)
  _only(
    {b.name: b for b in config.declared if b.restores_best is not None},
    'a choice of the best round',
  )
  origins = {block.name: block.start(config) for block in config.declared}
  origin = _only({n: found for n, found in origins.items() if found}, 'a start')
  config = dataclasses.replace(config, origin=origin)
  return dataclasses.replace(config, notes=method_notes.describe(config))


def _only(found: Mapping[str, Any], what: str) -> Any:
  """Returns the only value, if any, of what a block declares, by its name."""
  if len(found) > 1:
    raise errors.InputError(
      f'The config must have one block with {what} at most, got '
      f'{" and ".join(found)}.'
    )
  return next(iter(found.values()), None)


def _check_task(task: Mapping[str, Any]) -> None:
  """Checks the name of a task, and the options of one of this package."""
  fields.text('task.name', task.get('name'))
  known = task_registry.own_options(task['name'])
  if known:
    options = {name: value for name, value in task.items() if name != 'name'}
    task_registry.check_options(task['name'], options, known)


def _optional_fields(
  values: Mapping[str, Any],
  method: method_lib.Method,
  blocks: Mapping[str, block_lib.Block],
) -> dict[str, fields.Check]:
  """Returns the optional fields of a method, and refuses those of others."""
  optional = dict.fromkeys(method.learning_rates, fields.number(positive=True))
  supports = {
    _WEIGHT_DECAY: ('learning_rates', _why_no_decay(method)),
    **{
      name: (block.supports, block.refuse(method))
      for name, block in blocks.items()
    },
  }
  for name, (support, reason) in supports.items():
    if name not in values:
      continue
    if support and support not in method.supports:
      reason = method.why_not(support)
    if reason:
      raise errors.InputError(
        f'The config field {name} does not exist for {method.name}: {reason}.'
      )
    optional[name] = fields.block
  if _WEIGHT_DECAY in optional:
    optional[_WEIGHT_DECAY] = fields.number(positive=False)
  return optional


def _why_no_decay(method: method_lib.Method) -> str:
  """Returns the reason why a method has no weight decay; '' if it can."""
  reason = 'its clients take no steps with adamw, which decays weights'
  if 'client_optimizer' not in method.fields:
    return reason
  try:
    method.fields['client_optimizer'].check('', 'adamw')
  except errors.InputError:
    return reason
  return ''


def _check_support(
  config: config_lib.Config,
  flat: Mapping[str, Any],
  blocks: Mapping[str, block_lib.Block],
) -> None:
  """Checks that a config only asks for what its method supports."""
  method = config.method
  only = registry.only_values(method, blocks)
  for field, (support, values) in only.items():
    if flat.get(field, values[0]) not in values:
      raise errors.InputError(
        f'{field} must be {" or ".join(map(repr, values))} for {method.name}, '
        f'got {flat[field]!r}: {method.why_not(support)}.'
      )


def _check_weight_decay(config: config_lib.Config) -> None:
  if config.client_weight_decay is None:
    return
  optimizer = config.algorithm.client_optimizer
  if optimizer != 'adamw':
    raise errors.InputError(
      f'algorithm.client_optimizer must be adamw for {_WEIGHT_DECAY} '
      f'{config.client_weight_decay!r}, got {optimizer!r}, which has none.'
    )
