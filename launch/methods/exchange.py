# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A config's block `exchange`: which weights clients send.

Plain Python, without TensorFlow, which is imported when a selector is built.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import typing
from typing import Any
from typing import NamedTuple

from fedfish_tff import choices
from fedfish_tff import client_work
from fedfish_tff import errors
from launch.methods import fields

if typing.TYPE_CHECKING:
  from tasks.task import Task

CLIENT_KEEPS, SERVER_KEEPS = 'client_keeps', 'server_keeps'

# share and coordinates take the share, threshold the threshold.
FIELDS: Mapping[str, fields.Field] = {
  'selection': fields.Field(
    'share',
    fields.one_of('share', 'threshold', 'coordinates'),
    'What is chosen: a share of the tensors, those that moved far enough, or '
    'single weights.',
  ),
  'share': fields.Field(
    0.5,
    fields.share,
    'Which part of them is sent.',
    goes_with={'selection': ('share', 'coordinates')},
  ),
  'threshold': fields.Field(
    0.1,
    fields.number(positive=False),
    'The least drift that is sent.',
    goes_with={'selection': ('threshold',)},
  ),
  'direction': fields.Field(
    'largest', fields.member_of(choices.Direction), 'Which drift is sent.'
  ),
  'normalize': fields.Field(
    False,
    fields.boolean,
    "Whether to divide a tensor's drift by its number of weights.",
    goes_with={'selection': ('share', 'threshold')},
  ),
  'group_by': fields.Field(
    'tensor',
    fields.one_of('tensor', 'layer'),
    'With layer, all tensors of a layer are sent, or none.',
    goes_with={'selection': ('share', 'threshold')},
  ),
  'coordinate_score': fields.Field(
    'change',
    fields.member_of(choices.CoordinateScore),
    'What single weights are chosen by.',
    goes_with={'selection': ('coordinates',)},
  ),
  'unsent': fields.Field(
    SERVER_KEEPS,
    fields.one_of(SERVER_KEEPS, CLIENT_KEEPS),
    'Who keeps what nobody has sent.',
  ),
}

# What the axis `exchange` of a variant changes.
PRESETS: Mapping[str, Mapping[str, Any]] = {
  'partial': {},
  'partial_smallest': {'direction': 'smallest'},
  'layers': {'group_by': 'layer'},
  'threshold': {'selection': 'threshold'},
  'coordinates': {'selection': 'coordinates'},
}


class Exchange(NamedTuple):
  """Which weights clients send.

  Attributes:
    arguments: The selector and the names of tensors, as builders take them.
    client_keeps: Whether clients keep what nobody has sent.
  """

  arguments: Mapping[str, Any]
  client_keeps: bool


def defaults(preset: str) -> dict[str, Any]:
  """Returns the block `exchange` of a config, by the name of a preset."""
  return {**fields.defaults(FIELDS), **PRESETS[preset]}


def check_exchange(config: Mapping[str, Any]) -> None:
  """Checks the block `exchange` and what it goes with.

  Args:
    config: With the block; its other blocks are checked already.

  Raises:
    errors.InputError: If a field is missing, unknown or out of range, or does
      not go with another one.
  """
  block, algorithm = config['exchange'], config['algorithm']
  fields.check_block('exchange.', block, FIELDS)
  if algorithm.get('diagnostics'):
    raise errors.InputError(
      'algorithm.diagnostics is True, but clients send a part of their weights '
      "(exchange), while it compares with FedAvg's update of all of them; False "
      'was expected.'
    )
  if block['group_by'] == 'layer' and 'fine_tuning' in config:
    raise errors.InputError(
      "exchange.group_by is 'layer', but the tensors of a fine-tuning have no "
      "names to tell layers by; 'tensor' was expected."
    )
  if block['unsent'] == CLIENT_KEEPS:
    _check_client_keeps(config)


def _check_client_keeps(config: Mapping[str, Any]) -> None:
  """Checks what clients' own weights go with."""
  algorithm = config['algorithm']
  for name, value, expected, reason in (
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
  for other, reason in (
    ('fine_tuning', 'whose clients keep whole models'),
    (
      'server_schedule',
      'whose server takes the mean of what was sent as it is',
    ),
  ):
    if other in config:
      raise errors.InputError(
        f'The config has a block {other}, but exchange.unsent is '
        f'{CLIENT_KEEPS!r}, {reason}; {SERVER_KEEPS!r} was expected.'
      )


def build(
  config: Mapping[str, Any], task: Task, *, sent: Sequence[bool] = ()
) -> Exchange | None:
  """Returns which weights clients of a config send; None for all of them.

  Args:
    config: A checked config.
    task: Its task.
    sent: For each trainable tensor, which has a name then, whether clients may
      send it; all of them by default.

  Raises:
    errors.InputError: If layers are wanted of a model without names.
  """
  if 'exchange' not in config:
    return None
  exchange = config['exchange']
  # A fine-tuned model has other tensors than the task's.
  names = None if 'fine_tuning' in config else (task.tensor_names or None)
  if sent:
    names = tuple(name for name, s in zip(names, sent, strict=True) if s)
  if exchange['group_by'] == 'layer' and names is None:
    raise errors.InputError(
      f"exchange.group_by is 'layer', but the model of task {task.name!r} has "
      "no names of tensors to tell layers by; 'tensor' was expected."
    )
  return Exchange(
    {'selector': _create_selector(exchange, names), 'tensor_names': names},
    exchange['unsent'] == CLIENT_KEEPS,
  )


def _create_selector(
  exchange: Mapping[str, Any], tensor_names: tuple[str, ...] | None
) -> client_work.Selector:
  direction = choices.Direction(exchange['direction'])
  if exchange['selection'] == 'coordinates':
    return client_work.build_coordinate_selector(
      exchange['share'],
      direction=direction,
      score=choices.CoordinateScore(exchange['coordinate_score']),
    )
  arguments = dict(
    direction=direction,
    normalize=exchange['normalize'],
    groups=(
      client_work.group_by_layer(tensor_names)
      if exchange['group_by'] == 'layer'
      else None
    ),
  )
  if exchange['selection'] == 'threshold':
    return client_work.build_threshold_selector(
      exchange['threshold'], **arguments
    )
  return client_work.build_share_selector(exchange['share'], **arguments)
