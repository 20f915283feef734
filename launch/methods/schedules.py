# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The blocks `client_schedule` and `server_schedule` of learning rates.

A round's learning rate is the config's rate times the schedule's factor, so
that a tuned rate keeps its meaning. This is plain Python, without TensorFlow.
"""

from __future__ import annotations

from collections.abc import Mapping
import functools
import math
import typing
from typing import Any

from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import simulation
from launch.methods import block
from launch.methods import building
from launch.methods import config as config_lib
from launch.methods import config_fields

if typing.TYPE_CHECKING:
  from launch.methods import method as method_lib

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
_PRESETS: Mapping[str, Mapping[str, Any]] = {
  'cosine': {},
  'step': {'name': 'step'},
  'warmup': {'name': 'constant', 'warmup_rounds': 5},
}


def _check(config: config_lib.Config, *, name: str) -> None:
  own, rounds = config.blocks[name], config.rounds
  if own.warmup_rounds >= rounds:
    raise errors.unexpected(
      f'{name}.warmup_rounds', own.warmup_rounds, f'fewer than {rounds}'
    )
  # Without a warm-up the factor is monotone, so that its ends show a change.
  if all(factor(own, r, rounds=rounds) == 1 for r in (1, rounds)):
    raise errors.InputError(
      f'The block {name} must change the learning rate, got one that '
      f'multiplies it by 1 in each of {rounds} rounds; leave it out.'
    )


def factor(
  own: config_fields.Values, round_number: int, *, rounds: int
) -> float:
  """Returns the factor of a learning rate in one round.

  Args:
    own: The block `client_schedule` or `server_schedule` of a config.
    round_number: The round, from 1 to `rounds`.
    rounds: The number of the last round.
  """
  warmup = own.warmup_rounds
  if round_number <= warmup:
    return round_number / (warmup + 1)
  done = round_number - warmup - 1
  if own.name == 'step':
    return own.step_factor ** (done // own.step_rounds)
  if own.name == 'cosine':
    final = own.final_factor
    angle = math.pi * done / (rounds - warmup)
    return final + (1.0 - final) * (1.0 + math.cos(angle)) / 2.0
  return 1.0


def _hooks(experiment: block.Experiment, *, name: str) -> list[simulation.Hook]:
  config, first = experiment.config, experiment.first_round

  def parameters(round_number: int) -> dict[str, float]:
    scale = factor(
      config.blocks[name], round_number - first, rounds=config.rounds - first
    )
    return {_parameter(name): scale}

  return [simulation.Schedules(parameters)]


def _parameter(name: str) -> str:
  return f'{name}_factor'


def _refuse(method: method_lib.Method, *, rate: str) -> str:
  return '' if rate in method.scheduled_rates else f'no step has its {rate}'


def _deviations(config: config_lib.Config, *, name: str) -> dict[str, str]:
  own = config.blocks[name]
  what = 'warm-up' if own.name == 'constant' else own.name
  if own.warmup_rounds and own.name != 'constant':
    what = f'{what} and warm-up'
  words = f'{what} of {name.removesuffix("_schedule")} rates'
  return {f'{name}.name': words}


def _length_field(config: config_lib.Config, *, name: str) -> str:
  return f'{name}.name' if config.blocks[name].name == 'cosine' else ''


def _declare(rate: str, name: str, part: str) -> block.Block:
  return block.Block(
    name=name,
    help=f'a factor of {rate} in each round, which metrics.csv then has, too',
    fields=FIELDS,
    presets=_PRESETS,
    supports='learning_rates',
    refuse=functools.partial(_refuse, rate=rate),
    check=functools.partial(_check, name=name),
    deviations=functools.partial(_deviations, name=name),
    length_field=functools.partial(_length_field, name=name),
    built_from=block.of_own_fields,
    build={part: lambda parts, factor_: _parameter(name)},
    hooks=functools.partial(_hooks, name=name),
  )


# The blocks by the learning rate that they change.
BLOCKS: Mapping[str, block.Block] = {
  rate: _declare(rate, name, part)
  for rate, name, part in (
    (config_fields.CLIENT_RATE, 'client_schedule', building.CLIENT_RATE_FACTOR),
    (config_fields.SERVER_RATE, 'server_schedule', building.SERVER_RATE_FACTOR),
  )
}
