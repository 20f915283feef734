# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a config of launch.train may hold.

Plain Python, without TensorFlow: a wrong value is answered at once.
"""

from collections.abc import Callable
from collections.abc import Mapping
import math
import re
from typing import Any

from fedfish_tff import errors

OPTIMIZERS = ('adagrad', 'adam', 'adamw', 'rmsprop', 'sgd', 'sgdm', 'yogi')
CLIENT_WEIGHTINGS = ('num_examples', 'uniform')
FISHER_ESTIMATORS = ('batch_gradient', 'per_example', 'sampled_label')
FISHER_NORMALIZATIONS = ('mean', 'sum')
PARTICIPATIONS = ('uniform', 'visit_once', 'first_visits')
# Each client counts once.
VISITS = ('visit_once', 'first_visits')
ACCUMULATORS = ('float32', 'float64')
RIDGE_BIASES = ('regularized', 'centered', 'none')
CLASS_DISTANCES = ('cosine', 'euclidean')
FINE_TUNING_STRATEGIES = ('ft', 'ft_lp', 'ft_feat')
# A fine-tuning that starts from weights of zero.
NO_START = 'none'

# Names of folders.
_RUN_NAME = re.compile(r'[A-Za-z0-9_]+')

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


def _numbers(name: str, value: Any) -> None:
  """Checks a sequence of finite numbers that are 0 or more; may be empty."""
  if not isinstance(value, (list, tuple)):
    raise _error(name, value, 'a sequence of numbers')
  for number in value:
    _number(positive=False)(f'A number of {name}', number)


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

_RIDGE: Mapping[str, Check] = {
  'name': _text,
  'regularization': _number(positive=False),
  'regularization_path': _numbers,
  'bias': _one_of(*RIDGE_BIASES),
  'normalize_classes': _boolean,
  'accumulator': _one_of(*ACCUMULATORS),
}

# Solved from sums: there is nothing to step, so no learning rate.
CLOSED_FORM_ALGORITHMS: Mapping[str, Mapping[str, Check]] = {
  'fed3r': _RIDGE,
  'fed3r_rf': {
    **_RIDGE,
    'num_random_features': _integer(1),
    'bandwidth': _number(positive=False),
  },
  'fed_ncm': {
    'name': _text,
    'distance': _one_of(*CLASS_DISTANCES),
    'accumulator': _one_of(*ACCUMULATORS),
  },
}
_LEARNING_RATES = ('client_learning_rate', 'server_learning_rate')

_FINE_TUNING: Mapping[str, Check] = {
  'strategy': _one_of(*FINE_TUNING_STRATEGIES),
  'temperature': _number(positive=True),
  'weight_decay': _number(positive=False),
  'start': _block,
}

_PARTICIPATION: Mapping[str, Check] = {'name': _one_of(*PARTICIPATIONS)}

_EVALUATION: Mapping[str, Check] = {
  'personalization_epochs': _integer(0),
  'barrier': _boolean,
}


def is_closed_form(config: Mapping[str, Any]) -> bool:
  """Whether a config's algorithm solves for the classifier."""
  algorithm = config.get('algorithm')
  return (
    isinstance(algorithm, Mapping)
    and algorithm.get('name') in CLOSED_FORM_ALGORITHMS
  )


def check_config(config: Mapping[str, Any]) -> None:
  """Checks every field but the task's own options, which the task checks.

  Args:
    config: Nested mappings.

  Raises:
    errors.InputError: If a field is missing, unknown, of the wrong type or out
      of range, or does not apply to the algorithm.
  """
  closed_form = is_closed_form(config)
  fields = dict(_FIELDS)
  if closed_form:
    fields = {n: c for n, c in fields.items() if n not in _LEARNING_RATES}
  elif 'fine_tuning' in config:
    fields['fine_tuning'] = _block
  _check_fields(
    '',
    config,
    fields,
    owner=config['algorithm']['name'] if closed_form else '',
  )
  _check_algorithm(
    'algorithm.', config['algorithm'], ALGORITHMS | CLOSED_FORM_ALGORITHMS
  )
  _check_fields('participation.', config['participation'], _PARTICIPATION)
  _check_fields('evaluation.', config['evaluation'], _EVALUATION)
  _text('task.name', config['task'].get('name'))
  if 'fine_tuning' in config:
    _check_fine_tuning(config)
  if closed_form:
    _check_closed_form(config)
  _check_combinations(config)


def check_runs(config: Mapping[str, Any]) -> None:
  """Checks a config of several runs, each of them a config.

  Args:
    config: Nested mappings: `runs`, by name, and `check_ridge`, the name of the
      run of fed3r that is compared with scikit-learn, or ''.

  Raises:
    errors.InputError: If a run or a field cannot be used.
  """
  _check_fields('', config, {'runs': _block, 'check_ridge': _text})
  if not config['runs']:
    raise errors.InputError('runs is empty; one config at least was expected.')
  for name, run in config['runs'].items():
    if not _RUN_NAME.fullmatch(name):
      raise _error('The name of a run', name, 'letters, digits and _')
    _block(f'runs.{name}', run)
    try:
      check_config(run)
    except errors.InputError as error:
      raise errors.InputError(f'Run {name}: {error}') from error
  checked = config['check_ridge']
  known = [
    name
    for name, run in config['runs'].items()
    if run['algorithm']['name'] == 'fed3r'
  ]
  if checked and checked not in known:
    there_are = f' ({", ".join(known)})' if known else ''
    raise _error('check_ridge', checked, f"a run of fed3r{there_are}, or ''")


def _check_algorithm(
  prefix: str,
  block: Mapping[str, Any],
  algorithms: Mapping[str, Mapping[str, Check]],
) -> None:
  _one_of(*algorithms)(f'{prefix}name', block.get('name'))
  _check_fields(prefix, block, algorithms[block['name']], owner=block['name'])


def _check_fine_tuning(config: Mapping[str, Any]) -> None:
  block = config['fine_tuning']
  _check_fields('fine_tuning.', block, _FINE_TUNING)
  _check_algorithm(
    'fine_tuning.start.',
    block['start'],
    {NO_START: {'name': _text}, **CLOSED_FORM_ALGORITHMS},
  )
  if block['start']['name'] == NO_START:
    if block['strategy'] == 'ft_feat':
      raise errors.InputError(
        'fine_tuning.strategy is ft_feat, which freezes the classifier, but '
        'fine_tuning.start.name is none, with which that is zero; another '
        'start or strategy was expected.'
      )
  elif config['participation']['name'] in VISITS:
    raise errors.InputError(
      f'participation.name is {config["participation"]["name"]!r}, but all '
      'clients come in the start of the fine-tuning already; uniform was '
      'expected.'
    )


def _check_closed_form(config: Mapping[str, Any]) -> None:
  name = config['algorithm']['name']
  if config['participation']['name'] not in VISITS:
    raise errors.InputError(
      f'participation.name is {config["participation"]["name"]!r}, with which '
      f'{name} would count clients as often as they are drawn; one of '
      f'{", ".join(VISITS)} was expected.'
    )
  if config['local_epochs'] != 1:
    raise errors.InputError(
      f'local_epochs is {config["local_epochs"]}, but {name} counts each '
      'example once; 1 was expected.'
    )
  for field, expected in (('barrier', False), ('personalization_epochs', 0)):
    value = config['evaluation'][field]
    if value:
      raise errors.InputError(
        f'evaluation.{field} is {value!r}, but clients of {name} train no '
        f'model; {expected!r} was expected.'
      )


def _check_combinations(config: Mapping[str, Any]) -> None:
  algorithm = config['algorithm']
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
  prefix: str,
  block: Mapping[str, Any],
  checks: Mapping[str, Check],
  *,
  owner: str = '',
) -> None:
  """Checks each field; `owner` is whose fields they are, if not anyone's."""
  for name in checks:
    if name not in block:
      raise errors.InputError(f'The config has no field {prefix}{name}.')
  for name, value in block.items():
    if name not in checks:
      raise errors.InputError(
        f'The config field {prefix}{name} does not exist'
        + (f' for {owner}' if owner else '')
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
