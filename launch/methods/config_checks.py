# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a config of launch.train may hold.

Plain Python, without TensorFlow: a wrong value is answered at once.
"""

from collections.abc import Mapping
import re
from typing import Any

from fedfish_tff import errors
from launch.methods import adapters
from launch.methods import aggregation
from launch.methods import building
from launch.methods import compression
from launch.methods import early_stopping
from launch.methods import exchange
from launch.methods import fields
from launch.methods import fine_tuning
from launch.methods import method as method_lib
from launch.methods import participation
from launch.methods import privacy
from launch.methods import registry
from launch.methods import schedules
from launch.methods import weight_average

# Names of folders.
_RUN_NAME = re.compile(r'[A-Za-z0-9_]+')

_FIELDS: Mapping[str, fields.Check] = {
  'seed': fields.integer(0),
  'rounds': fields.integer(1),
  'cohort_size': fields.integer(1),
  'local_epochs': fields.integer(1),
  'batch_size': fields.integer(1),
  'max_examples_per_client': fields.integer(0),
  'evaluate_every': fields.integer(1),
  'checkpoint_every': fields.integer(1),
  'algorithm': fields.block,
  'task': fields.block,
  'participation': fields.block,
  'evaluation': fields.block,
}
_LEARNING_RATE = fields.number(positive=True)
# What a config may have, each with what its method supports then.
OPTIONAL: Mapping[str, tuple[str, fields.Check]] = {
  'adapters': ('learning_rates', fields.block),
  'aggregation': ('model_aggregator', fields.block),
  'client_weight_decay': ('learning_rates', fields.number(positive=False)),
  'compression': ('model_aggregator', fields.block),
  'early_stopping': ('learning_rates', fields.block),
  'exchange': ('exchange', fields.block),
  'fine_tuning': ('fine_tuning', fields.block),
  'privacy': ('privacy', fields.block),
  'weight_average': ('learning_rates', fields.block),
}
_EVALUATION: Mapping[str, fields.Check] = {
  'personalization_epochs': fields.integer(0),
  'barrier': fields.boolean,
  'personalization_learning_rates': fields.numbers,
}
# The only values of methods that do not support something.
_ONLY: Mapping[str, tuple[str, Any]] = {
  'local_epochs': ('local_epochs', 1),
  'evaluation.barrier': ('barrier', False),
  'evaluation.personalization_epochs': ('learning_rates', 0),
  'exchange.unsent': ('client_keeps', exchange.SERVER_KEEPS),
}


def check_config(config: Mapping[str, Any]) -> None:
  """Checks every field but the task's own options, which the task checks.

  Args:
    config: Nested mappings.

  Raises:
    errors.InputError: If a field is missing, unknown, of the wrong type or out
      of range, or does not apply to the method.
  """
  if 'algorithm' not in config:
    raise errors.InputError('The config has no field algorithm.')
  fields.block('algorithm', config['algorithm'])
  method = registry.find_method(config['algorithm'].get('name'))
  known = dict(_FIELDS)
  for name in method.learning_rates:
    known[name] = _LEARNING_RATE
  for name, (support, check) in OPTIONAL.items():
    if name in config and support not in method.supports:
      raise errors.InputError(
        f'The config field {name} does not exist for {method.name}: '
        f'{method.why_not(support)}.'
      )
    if name in config:
      known[name] = check
  for rate in method.scheduled_rates:
    block = building.SCHEDULES[rate]
    if block in config:
      known[block] = fields.block
  fields.check_fields('', config, known, owner=method.name)
  _check_block('algorithm.', config['algorithm'], method)
  participation.check(config['participation'])
  _check_evaluation(config['evaluation'])
  fields.text('task.name', config['task'].get('name'))
  if 'fine_tuning' in config:
    fine_tuning.check(config)
    _check_start(config['fine_tuning']['start'])
  if 'adapters' in config:
    adapters.check(config, method)
  if 'exchange' in config:
    exchange.check_exchange(config)
  if 'privacy' in config:
    privacy.check(config)
  if 'aggregation' in config:
    aggregation.check(config)
  if 'compression' in config:
    compression.check(config)
  if 'early_stopping' in config:
    early_stopping.check(config)
  for block in building.SCHEDULES.values():
    if block in config:
      schedules.check(f'{block}.', config[block], config['rounds'])
  if 'weight_average' in config:
    weight_average.check(config['weight_average'])
  _check_support(config, method)
  _check_weight_decay(config)


def check_runs(config: Mapping[str, Any]) -> None:
  """Checks a config of several runs, each of them a config.

  Args:
    config: Nested mappings: `runs`, by name, and `check_ridge`, the name of the
      run of fed3r that is compared with scikit-learn, or ''.

  Raises:
    errors.InputError: If a run or a field cannot be used.
  """
  fields.check_fields(
    '', config, {'runs': fields.block, 'check_ridge': fields.text}
  )
  if not config['runs']:
    raise errors.InputError('runs is empty; one config at least was expected.')
  for name, run in config['runs'].items():
    if not _RUN_NAME.fullmatch(name):
      raise fields.error('The name of a run', name, 'letters, digits and _')
    fields.block(f'runs.{name}', run)
    try:
      check_config(run)
    except errors.InputError as error:
      raise errors.InputError(f'Run {name}: {error}') from error
  checked = config['check_ridge']
  known = [
    name
    for name, run in config['runs'].items()
    if 'ridge_check' in registry.method_of(run).supports
  ]
  if checked and checked not in known:
    comparable = ' or '.join(registry.names('ridge_check'))
    there_are = f' ({", ".join(known)})' if known else ''
    raise fields.error(
      'check_ridge', checked, f"a run of {comparable}{there_are}, or ''"
    )


def _check_block(
  prefix: str, block: Mapping[str, Any], method: method_lib.Method
) -> None:
  name = fields.Field(method.name, fields.text, 'The method.')
  fields.check_block(
    prefix, block, {'name': name, **method.fields}, owner=method.name
  )


def _check_evaluation(block: Mapping[str, Any]) -> None:
  fields.check_fields('evaluation.', block, _EVALUATION)
  rates = block['personalization_learning_rates']
  if rates and not block['personalization_epochs']:
    raise errors.InputError(
      f'evaluation.personalization_learning_rates is {rates!r}, but '
      'evaluation.personalization_epochs is 0, so that there are no steps to '
      'take with them; none were expected.'
    )


def _check_start(start: Mapping[str, Any]) -> None:
  """Checks what a fine-tuning starts from."""
  field = 'fine_tuning.start.name'
  none = fine_tuning.NO_START
  if start.get('name') == none:
    fields.check_fields(
      'fine_tuning.start.', start, {'name': fields.text}, owner=none
    )
    return
  method = registry.find_method(start.get('name'), field=field, known=[none])
  if 'fine_tuning_start' not in method.supports:
    raise errors.InputError(
      f'{field} is {method.name!r}, but {method.why_not("fine_tuning_start")}; '
      f'{none} or a method with a closed form was expected.'
    )
  _check_block('fine_tuning.start.', start, method)


def _check_support(
  config: Mapping[str, Any], method: method_lib.Method
) -> None:
  """Checks that a config asks of its method what that supports."""
  values = flatten(config)
  for field, (support, only) in _ONLY.items():
    value = values.get(field, only)
    if support not in method.supports and value != only:
      raise errors.InputError(
        f'{field} is {value!r}, but not for {method.name}: '
        f'{method.why_not(support)}; {only!r} was expected.'
      )
  name = config['participation']['name']
  if (
    'repeated_visits' not in method.supports
    and name not in participation.VISITS
  ):
    raise errors.InputError(
      f'participation.name is {name!r}, but not for {method.name}: '
      f'{method.why_not("repeated_visits")}; one of '
      f'{", ".join(participation.VISITS)} was expected.'
    )
  if method.personalizes and participation.by_accuracy(config):
    raise errors.InputError(
      f'participation.rounds_a_stage is 0, but not for {method.name}: the '
      "gradient at the server's model is not that of what its clients train; a "
      'positive integer was expected.'
    )


def _check_weight_decay(config: Mapping[str, Any]) -> None:
  optimizer = config['algorithm'].get('client_optimizer', 'sgd')
  if 'client_weight_decay' in config and optimizer != 'adamw':
    raise errors.InputError(
      f'client_weight_decay is {config["client_weight_decay"]!r}, but '
      f'algorithm.client_optimizer is {optimizer!r}, which has none; adamw was '
      'expected.'
    )


def flatten(config: Mapping[str, Any], prefix: str = '') -> dict[str, Any]:
  """Returns the value of every field by its dotted name.

  Args:
    config: Nested mappings; one without fields is a value.
    prefix: Goes before the names.
  """
  flat = {}
  for name, value in config.items():
    if isinstance(value, Mapping) and value:
      flat |= flatten(value, f'{prefix}{name}.')
    else:
      flat[prefix + name] = value
  return flat
