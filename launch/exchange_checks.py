# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a config's block `exchange` may hold: which weights clients send.

Plain Python, without TensorFlow.
"""

from collections.abc import Mapping
from typing import Any

from fedfish_tff import errors
from launch import field_checks

# What has a client_work that the choice of tensors goes around.
ALGORITHMS = ('fed_avg', 'fed_fish')
SELECTIONS = ('share', 'threshold', 'coordinates')
DIRECTIONS = ('largest', 'smallest')
GROUPINGS = ('tensor', 'layer')
COORDINATE_SCORES = ('weight', 'change', 'magnitude_change')
SERVER_KEEPS, CLIENT_KEEPS = 'server_keeps', 'client_keeps'
UNSENT = (SERVER_KEEPS, CLIENT_KEEPS)

_FIELDS: Mapping[str, field_checks.Check] = {
  'selection': field_checks.one_of(*SELECTIONS),
  'share': field_checks.share,
  'threshold': field_checks.number(positive=False),
  'direction': field_checks.one_of(*DIRECTIONS),
  'normalize': field_checks.boolean,
  'group_by': field_checks.one_of(*GROUPINGS),
  'coordinate_score': field_checks.one_of(*COORDINATE_SCORES),
  'unsent': field_checks.one_of(*UNSENT),
}


def keeps_client_states(config: Mapping[str, Any]) -> bool:
  """Whether clients of a config keep weights of their own between rounds."""
  return config.get('exchange', {}).get('unsent') == CLIENT_KEEPS


def check_exchange(config: Mapping[str, Any]) -> None:
  """Checks the block `exchange` and what it goes with.

  Args:
    config: With the block; its other blocks are checked already.

  Raises:
    errors.InputError: If a field is missing, unknown or out of range, or does
      not go with another one.
  """
  block, algorithm = config['exchange'], config['algorithm']
  field_checks.check_fields('exchange.', block, _FIELDS)
  if algorithm['name'] not in ALGORITHMS:
    raise errors.InputError(
      f'algorithm.name is {algorithm["name"]!r}, whose clients cannot choose '
      'what they send (exchange); one of '
      f'{", ".join(ALGORITHMS)} was expected.'
    )
  if algorithm.get('diagnostics'):
    raise errors.InputError(
      'algorithm.diagnostics is True, but clients send a part of their weights '
      "(exchange), while it compares with FedAvg's update of all of them; False "
      'was expected.'
    )
  if block['selection'] == 'coordinates':
    for field, expected in (('normalize', False), ('group_by', 'tensor')):
      if block[field] != expected:
        raise errors.InputError(
          f'exchange.{field} is {block[field]!r}, but exchange.selection is '
          f"'coordinates', which chooses weights one by one; {expected!r} was "
          'expected.'
        )
  if block['group_by'] == 'layer' and 'fine_tuning' in config:
    raise errors.InputError(
      "exchange.group_by is 'layer', but the tensors of a fine-tuning have no "
      "names to tell layers by; 'tensor' was expected."
    )
  if keeps_client_states(config):
    _check_client_keeps(config)


def _check_client_keeps(config: Mapping[str, Any]) -> None:
  """Checks what clients' own weights go with."""
  algorithm = config['algorithm']
  for name, value, expected, reason in (
    (
      'algorithm.name',
      algorithm['name'],
      'fed_avg',
      'averages weights as they are',
    ),
    (
      'algorithm.server_optimizer',
      algorithm['server_optimizer'],
      'sgd',
      'takes the mean of what was sent as it is',
    ),
    (
      'server_learning_rate',
      config['server_learning_rate'],
      1.0,
      'takes the mean of what was sent as it is',
    ),
    (
      'evaluation.barrier',
      config['evaluation']['barrier'],
      False,
      'has no one model that all clients start a round from',
    ),
  ):
    if value != expected:
      raise errors.InputError(
        f'{name} is {value!r}, but exchange.unsent is {CLIENT_KEEPS!r}, which '
        f'{reason}; {expected!r} was expected.'
      )
  if 'fine_tuning' in config:
    raise errors.InputError(
      f'The config has a block fine_tuning, but exchange.unsent is '
      f'{CLIENT_KEEPS!r}, whose clients keep whole models; {SERVER_KEEPS!r} '
      'was expected.'
    )
