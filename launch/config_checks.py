# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a config of launch.train may hold.

Plain Python, without TensorFlow: a wrong value is answered at once.
"""

from collections.abc import Mapping
import re
from typing import Any

from fedfish_tff import errors
from launch import exchange_checks
from launch import field_checks

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

_FIELDS: Mapping[str, field_checks.Check] = {
  'seed': field_checks.integer(0),
  'rounds': field_checks.integer(1),
  'cohort_size': field_checks.integer(1),
  'local_epochs': field_checks.integer(1),
  'batch_size': field_checks.integer(1),
  'max_examples_per_client': field_checks.integer(0),
  'client_learning_rate': field_checks.number(positive=True),
  'server_learning_rate': field_checks.number(positive=True),
  'evaluate_every': field_checks.integer(1),
  'checkpoint_every': field_checks.integer(1),
  'algorithm': field_checks.block,
  'task': field_checks.block,
  'participation': field_checks.block,
  'evaluation': field_checks.block,
}

# Of runs that train by gradients.
_OPTIONAL: Mapping[str, field_checks.Check] = {
  'client_weight_decay': field_checks.number(positive=False),
  'exchange': field_checks.block,
  'fine_tuning': field_checks.block,
}

_OPTIMIZATION: Mapping[str, field_checks.Check] = {
  'name': field_checks.text,
  'client_optimizer': field_checks.one_of(*OPTIMIZERS),
  'server_optimizer': field_checks.one_of(*OPTIMIZERS),
  'client_weighting': field_checks.one_of(*CLIENT_WEIGHTINGS),
}

ALGORITHMS: Mapping[str, Mapping[str, field_checks.Check]] = {
  'fed_avg': _OPTIMIZATION,
  'fed_fish': {
    **_OPTIMIZATION,
    'fisher_estimator': field_checks.one_of(*FISHER_ESTIMATORS),
    'fisher_normalization': field_checks.one_of(*FISHER_NORMALIZATIONS),
    'damping': field_checks.number(positive=False),
    'minimum_denominator': field_checks.number(positive=False),
    'diagnostics': field_checks.boolean,
  },
  'fed_prox': {
    **_OPTIMIZATION,
    'proximal_strength': field_checks.number(positive=False),
  },
  'fed_sgd': _OPTIMIZATION,
  'mime_lite': _OPTIMIZATION,
}

_RIDGE: Mapping[str, field_checks.Check] = {
  'name': field_checks.text,
  'regularization': field_checks.number(positive=False),
  'regularization_path': field_checks.numbers,
  'bias': field_checks.one_of(*RIDGE_BIASES),
  'normalize_classes': field_checks.boolean,
  'accumulator': field_checks.one_of(*ACCUMULATORS),
}

# Solved from sums: there is nothing to step, so no learning rate.
CLOSED_FORM_ALGORITHMS: Mapping[str, Mapping[str, field_checks.Check]] = {
  'fed3r': _RIDGE,
  'fed3r_rf': {
    **_RIDGE,
    'num_random_features': field_checks.integer(1),
    'bandwidth': field_checks.number(positive=False),
  },
  'fed_ncm': {
    'name': field_checks.text,
    'distance': field_checks.one_of(*CLASS_DISTANCES),
    'accumulator': field_checks.one_of(*ACCUMULATORS),
  },
}
_LEARNING_RATES = ('client_learning_rate', 'server_learning_rate')

_FINE_TUNING: Mapping[str, field_checks.Check] = {
  'strategy': field_checks.one_of(*FINE_TUNING_STRATEGIES),
  'temperature': field_checks.number(positive=True),
  'weight_decay': field_checks.number(positive=False),
  'start': field_checks.block,
}

_PARTICIPATION: Mapping[str, field_checks.Check] = {
  'name': field_checks.one_of(*PARTICIPATIONS)
}

_EVALUATION: Mapping[str, field_checks.Check] = {
  'personalization_epochs': field_checks.integer(0),
  'barrier': field_checks.boolean,
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
  else:
    fields |= {n: c for n, c in _OPTIONAL.items() if n in config}
  field_checks.check_fields(
    '',
    config,
    fields,
    owner=config['algorithm']['name'] if closed_form else '',
  )
  _check_algorithm(
    'algorithm.', config['algorithm'], ALGORITHMS | CLOSED_FORM_ALGORITHMS
  )
  field_checks.check_fields(
    'participation.', config['participation'], _PARTICIPATION
  )
  field_checks.check_fields('evaluation.', config['evaluation'], _EVALUATION)
  field_checks.text('task.name', config['task'].get('name'))
  if 'fine_tuning' in config:
    _check_fine_tuning(config)
  if 'exchange' in config:
    exchange_checks.check_exchange(config)
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
  field_checks.check_fields(
    '', config, {'runs': field_checks.block, 'check_ridge': field_checks.text}
  )
  if not config['runs']:
    raise errors.InputError('runs is empty; one config at least was expected.')
  for name, run in config['runs'].items():
    if not _RUN_NAME.fullmatch(name):
      raise field_checks.error(
        'The name of a run', name, 'letters, digits and _'
      )
    field_checks.block(f'runs.{name}', run)
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
    raise field_checks.error(
      'check_ridge', checked, f"a run of fed3r{there_are}, or ''"
    )


def _check_algorithm(
  prefix: str,
  block: Mapping[str, Any],
  algorithms: Mapping[str, Mapping[str, field_checks.Check]],
) -> None:
  field_checks.one_of(*algorithms)(f'{prefix}name', block.get('name'))
  field_checks.check_fields(
    prefix, block, algorithms[block['name']], owner=block['name']
  )


def _check_fine_tuning(config: Mapping[str, Any]) -> None:
  block = config['fine_tuning']
  field_checks.check_fields('fine_tuning.', block, _FINE_TUNING)
  _check_algorithm(
    'fine_tuning.start.',
    block['start'],
    {NO_START: {'name': field_checks.text}, **CLOSED_FORM_ALGORITHMS},
  )
  if config.get('client_weight_decay') and block['weight_decay']:
    raise errors.InputError(
      f'client_weight_decay is {config["client_weight_decay"]!r}, but '
      f'fine_tuning.weight_decay is {block["weight_decay"]!r}, and clients '
      'would decay by both; 0 was expected for one of them.'
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
  if (
    'client_weight_decay' in config and algorithm['client_optimizer'] != 'adamw'
  ):
    raise errors.InputError(
      f'client_weight_decay is {config["client_weight_decay"]!r}, but '
      f'algorithm.client_optimizer is {algorithm["client_optimizer"]!r}, which '
      'has none; adamw was expected.'
    )
  if algorithm['name'] == 'fed_sgd' and config['local_epochs'] != 1:
    raise errors.InputError(
      f'local_epochs is {config["local_epochs"]}, but fed_sgd takes one '
      "gradient of one pass over a client's data; 1 was expected."
    )
  if algorithm['name'] == 'fed_sgd' and config['evaluation']['barrier']:
    raise errors.InputError(
      "evaluation.barrier is True, but fed_sgd's clients train no model; False "
      'was expected.'
    )
  if algorithm['name'] == 'mime_lite' and config['evaluation']['barrier']:
    raise errors.InputError(
      "evaluation.barrier is True, but mime_lite's clients train with the "
      "server's optimizer state, so that their own models cannot be trained "
      'again outside of the round; False was expected.'
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
