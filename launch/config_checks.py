# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a config of launch.train may hold.

Plain Python, without TensorFlow: a wrong value is answered at once.
"""

from collections.abc import Callable
from collections.abc import Mapping
import math
from typing import Any

from fedfish_tff import errors

OPTIMIZERS = ('adagrad', 'adam', 'adamw', 'rmsprop', 'sgd', 'sgdm', 'yogi')
CLIENT_WEIGHTINGS = ('num_examples', 'uniform')
FISHER_ESTIMATORS = ('batch_gradient', 'per_example', 'sampled_label')
FISHER_NORMALIZATIONS = ('mean', 'sum')
PARTICIPATIONS = ('uniform',)

# Raises InputError, or returns, for (field's dotted name, value).
Check = Callable[[str, Any], None]


def _error(name: str, value: Any, expected: str) -> errors.InputError:
  return errors.InputError(f'{name} is {value!r}; {expected} was expected.')


def _integer(minimum: int) -> Check:
  """Returns a check for integers from `minimum` on."""
  expected = {
    0: 'an integer that is 0 or more',
    1: 'a positive integer',
  }[minimum]

  def check(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
      raise _error(name, value, expected)
    if value < minimum:
      raise _error(name, value, expected)

  return check


def _number(*, positive: bool) -> Check:
  """Returns a check for finite numbers above 0, or 0 too."""
  expected = 'a positive number' if positive else 'a number that is 0 or more'

  def check(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
      raise _error(name, value, expected)
    if not math.isfinite(value) or value < 0 or (positive and value == 0):
      raise _error(name, value, expected)

  return check


def _one_of(*names: str) -> Check:
  def check(name: str, value: Any) -> None:
    if value not in names:
      raise _error(name, value, f'one of {", ".join(names)}')

  return check


def _boolean(name: str, value: Any) -> None:
  if not isinstance(value, bool):
    raise _error(name, value, 'True or False')


def _text(name: str, value: Any) -> None:
  if not isinstance(value, str):
    raise _error(name, value, 'a string')


def _block(name: str, value: Any) -> None:
  if not isinstance(value, Mapping):
    raise _error(name, value, 'a block of fields')


_FIELDS: Mapping[str, Check] = {
  'seed': _integer(0),
  'rounds': _integer(1),
  'cohort_size': _integer(1),
  'local_epochs': _integer(1),
  'batch_size': _integer(1),
  'max_examples_per_client': _integer(0),
  'client_learning_rate': _number(positive=True),
  'server_learning_rate': _number(positive=True),
  'evaluate_every': _integer(1),
  'checkpoint_every': _integer(1),
  'algorithm': _block,
  'task': _block,
  'participation': _block,
  'evaluation': _block,
}

_OPTIMIZATION: Mapping[str, Check] = {
  'name': _text,
  'client_optimizer': _one_of(*OPTIMIZERS),
  'server_optimizer': _one_of(*OPTIMIZERS),
  'client_weighting': _one_of(*CLIENT_WEIGHTINGS),
}

ALGORITHMS: Mapping[str, Mapping[str, Check]] = {
  'fed_avg': _OPTIMIZATION,
  'fed_fish': {
    **_OPTIMIZATION,
    'fisher_estimator': _one_of(*FISHER_ESTIMATORS),
    'fisher_normalization': _one_of(*FISHER_NORMALIZATIONS),
    'damping': _number(positive=False),
    'minimum_denominator': _number(positive=False),
    'diagnostics': _boolean,
  },
  'fed_prox': {**_OPTIMIZATION, 'proximal_strength': _number(positive=False)},
  'fed_sgd': _OPTIMIZATION,
  'mime_lite': _OPTIMIZATION,
}

_PARTICIPATION: Mapping[str, Check] = {'name': _one_of(*PARTICIPATIONS)}

_EVALUATION: Mapping[str, Check] = {
  'personalization_epochs': _integer(0),
  'barrier': _boolean,
}


def check_config(config: Mapping[str, Any]) -> None:
  """Checks every field but the task's own options, which the task checks.

  Args:
    config: Nested mappings.

  Raises:
    errors.InputError: If a field is missing, unknown, of the wrong type or out
      of range, or does not apply to the algorithm.
  """
  _check_fields('', config, _FIELDS)
  algorithm = config['algorithm']
  _one_of(*ALGORITHMS)('algorithm.name', algorithm.get('name'))
  _check_fields('algorithm.', algorithm, ALGORITHMS[algorithm['name']])
  _check_fields('participation.', config['participation'], _PARTICIPATION)
  _check_fields('evaluation.', config['evaluation'], _EVALUATION)
  _text('task.name', config['task'].get('name'))
  if algorithm['name'] == 'fed_sgd' and config['local_epochs'] != 1:
    raise errors.InputError(
      f'local_epochs is {config["local_epochs"]}, but fed_sgd takes one '
      "gradient of one pass over a client's data; 1 was expected."
    )
  if algorithm['name'] == 'mime_lite' and config['evaluation']['barrier']:
    raise errors.InputError(
      "evaluation.barrier is True, but mime_lite's clients train with the "
      "server's optimizer state, so that their own models cannot be trained "
      'again outside of the round; False was expected.'
    )


def _check_fields(
  prefix: str, block: Mapping[str, Any], checks: Mapping[str, Check]
) -> None:
  for name in checks:
    if name not in block:
      raise errors.InputError(f'The config has no field {prefix}{name}.')
  for name, value in block.items():
    if name not in checks:
      raise errors.InputError(
        f'The config field {prefix}{name} does not exist'
        + (f' for {block["name"]}' if prefix == 'algorithm.' else '')
        + f'; there are: {", ".join(sorted(checks))}.'
      )
    checks[name](prefix + name, value)


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
