# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The block `exchange`: a selection of the weights that clients send."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import functools
from typing import Any

from fedfish_tff import choices
from fedfish_tff import client_work
from fedfish_tff import errors
from fedfish_tff import fields
from launch.methods import block
from launch.methods import building
from launch.methods import config as config_lib
from launch.methods import config_fields

CLIENT_KEEPS, SERVER_KEEPS = 'client_keeps', 'server_keeps'

# Selections share and coordinates use `share`; threshold uses `threshold`.
_FIELDS: Mapping[str, fields.Field] = {
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


def _select(
  parts: building.Ingredients, sent: Sequence[bool]
) -> dict[str, Any]:
  """Returns the selector and the names of tensors, as arguments of builders.

  Args:
    parts: The ingredients of the method.
    sent: Whether clients may send each trainable tensor, for a model with
      names of tensors, which a selection of layers needs; empty for all of
      them.
  """
  config, task = parts.config, parts.task
  own = config.blocks['exchange']
  # A fine-tuned model does not have the task's tensors.
  names = (
    None
    if 'fine_tuning' in config.blocks
    else (task.find_tensor_names() or None)
  )
  if sent:
    names = tuple(name for name, s in zip(names, sent, strict=True) if s)
  if own.group_by == 'layer' and names is None:
    raise errors.InputError(
      "exchange.group_by must be 'tensor', since the model of task "
      f"{task.name!r} has no names of tensors to tell layers by, got 'layer'."
    )
  return {'selector': _create_selector(own, names), 'tensor_names': names}


def clients_keep_unsent(config: config_lib.Config) -> bool:
  """Returns whether clients keep the weights that they do not send."""
  own = config.blocks.get('exchange')
  return own is not None and own.unsent == CLIENT_KEEPS


def _create_selector(
  own: config_fields.Values, tensor_names: tuple[str, ...] | None
) -> client_work.Selector:
  direction = choices.Direction(own.direction)
  if own.selection == 'coordinates':
    return client_work.build_coordinate_selector(
      own.share,
      direction=direction,
      score=choices.CoordinateScore(own.coordinate_score),
    )
  arguments = dict(
    direction=direction,
    normalize=own.normalize,
    groups=(
      client_work.group_by_layer(tensor_names)
      if own.group_by == 'layer'
      else None
    ),
  )
  if own.selection == 'threshold':
    return client_work.build_threshold_selector(own.threshold, **arguments)
  return client_work.build_share_selector(own.share, **arguments)


def _describe_sent(own: config_fields.Values) -> str:
  """Returns words for what is sent, without fields that a selection ignores."""
  sent = f'share {fields.exact(own.share)}'
  if own.selection == 'coordinates':
    sent += ' of coordinates'
    if own.coordinate_score != 'change':
      sent += f' by {own.coordinate_score}'
  else:
    if own.selection == 'threshold':
      sent = f'threshold {fields.exact(own.threshold)}'
    if own.group_by == 'layer':
      sent += ' of layers'
    if own.normalize:
      sent += ', normalized'
  return sent


def _deviations(config: config_lib.Config) -> dict[str, str]:
  """Returns what clients send, and what becomes of the rest."""
  own = config.blocks['exchange']
  told = {
    'exchange.sent': _describe_sent(own),
    'exchange.direction': own.direction,
  }
  if own.unsent == CLIENT_KEEPS:
    told['exchange.unsent'] = 'client keeps'
  return told


_KEEPS = {'unsent': (CLIENT_KEEPS,)}
_MEAN_AS_IT_IS = 'whose server takes the mean of what was sent as it is'
BLOCK = block.Block(
  name='exchange',
  help='a part of the weights that clients send; with unsent=client_keeps what '
  'nobody sends stays different from client to client',
  fields=_FIELDS,
  presets={
    'partial': {},
    'partial_smallest': {'direction': 'smallest'},
    'layers': {'group_by': 'layer'},
    'threshold': {'selection': 'threshold'},
    'coordinates': {'selection': 'coordinates'},
  },
  axes=lambda: {'unsent': {CLIENT_KEEPS: {'unsent': CLIENT_KEEPS}}},
  supports='exchange',
  only={'unsent': ('client_keeps', (SERVER_KEEPS,))},
  goes_with=(
    block.Rule(
      'algorithm.diagnostics',
      (False,),
      "while it compares with FedAvg's update of all weights",
    ),
    block.Rule(
      'fine_tuning',
      (),
      'but the tensors of a fine-tuning have no names to tell layers by',
      when={'group_by': ('layer',)},
    ),
    block.Rule(
      'algorithm.server_optimizer', ('sgd',), _MEAN_AS_IT_IS, when=_KEEPS
    ),
    block.Rule('server_learning_rate', (1.0,), _MEAN_AS_IT_IS, when=_KEEPS),
    block.Rule(
      'evaluation.barrier',
      (False,),
      'so that there is no one model that all clients start a round from',
      when=_KEEPS,
    ),
    block.Rule(
      'fine_tuning', (), 'whose clients keep whole models', when=_KEEPS
    ),
    block.Rule('server_schedule', (), _MEAN_AS_IT_IS, when=_KEEPS),
  ),
  sets=(
    block.Rule(
      'evaluation.personalization_epochs',
      fields.POSITIVE,
      'whose clients end up with models of their own',
      when=_KEEPS,
    ),
  ),
  label=lambda config, name: f'Partial {name}',
  deviations=_deviations,
  keeps_models=lambda own: own.unsent == CLIENT_KEEPS,
  measures_payload=True,
  built_from=block.of_own_fields,
  build={
    building.EXCHANGE: lambda parts, select_all: functools.partial(
      _select, parts
    )
  },
)
