# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A config's blocks `client_schedule` and `server_schedule`: rates by round.

In a round a learning rate is that of the config times a factor of its schedule,
so that a rate that was tuned stays what it was. Plain Python, without TensorFlow.
"""

from collections.abc import Mapping
import math
from typing import Any

from fedfish_tff import errors
from launch.methods import fields

FIELDS: Mapping[str, fields.Field] = {
  'name': fields.Field(
    'cosine',
    fields.one_of('constant', 'cosine', 'step'),
    'What the factor does after the warm-up. cosine: half a period from 1 to '
    'final_factor, Loshchilov and Hutter (2017), equation 5. step: times '
    'step_factor every step_rounds.',
  ),
  'warmup_rounds': fields.Field(
    0,
    fields.integer(0),
    'Rounds before, in which the factor grows in a line; it is 1 first thereafter.',
  ),
  'final_factor': fields.Field(
    0.0,
    fields.number(positive=False),
    'Of cosine: where it leads, after the last round.',
    goes_with={'name': ('cosine',)},
  ),
  'step_rounds': fields.Field(
    10,
    fields.integer(1),
    'Of step: rounds with one factor.',
    goes_with={'name': ('step',)},
  ),
  'step_factor': fields.Field(
    0.1,
    fields.number(positive=True),
    'Of step: from each to the next.',
    goes_with={'name': ('step',)},
  ),
}

# What the axes `client_schedule` and `server_schedule` of a variant change.
PRESETS: Mapping[str, Mapping[str, Any]] = {
  'cosine': {},
  'step': {'name': 'step'},
  'warmup': {'name': 'constant', 'warmup_rounds': 5},
}


def defaults(preset: str) -> dict[str, Any]:
  """Returns the block of a config, by the name of a preset."""
  return {**fields.defaults(FIELDS), **PRESETS[preset]}


def check(prefix: str, block: Mapping[str, Any], rounds: int) -> None:
  """Checks a block.

  Args:
    prefix: Of the names of its fields.
    block: The block.
    rounds: Those of the config.

  Raises:
    errors.InputError: If a field is missing, unknown or out of range, or the
      rate stays what it is.
  """
  fields.check_block(prefix, block, FIELDS)
  if block['warmup_rounds'] >= rounds:
    raise fields.error(
      f'{prefix}warmup_rounds', block['warmup_rounds'], f'fewer than {rounds}'
    )
  # It goes up first, and then down.
  if all(factor(block, r, rounds=rounds) == 1 for r in (1, rounds)):
    raise errors.InputError(
      f'The block {prefix.rstrip(".")} multiplies the learning rate by 1 in each '
      f'of {rounds} rounds; one that changes it, or none, was expected.'
    )


def factor(
  block: Mapping[str, Any], round_number: int, *, rounds: int
) -> float:
  """Returns by what a rate is multiplied in a round.

  Args:
    block: The block of a config.
    round_number: From 1.
    rounds: The last round.
  """
  warmup = block['warmup_rounds']
  if round_number <= warmup:
    return round_number / (warmup + 1)
  done = round_number - warmup - 1
  if block['name'] == 'step':
    return block['step_factor'] ** (done // block['step_rounds'])
  if block['name'] == 'cosine':
    final = block['final_factor']
    angle = math.pi * done / (rounds - warmup)
    return final + (1.0 - final) * (1.0 + math.cos(angle)) / 2.0
  return 1.0
