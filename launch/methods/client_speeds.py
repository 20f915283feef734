# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The kinds of clients' speeds, in the block `participation.speeds`.

This is plain Python, without TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import os
from typing import Any

from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import simulation
from launch.methods import block
from launch.methods import config_fields

_COMMUNICATION: Mapping[str, fields.Field] = {
  'communication_seconds': fields.Field(
    0.0, fields.number(positive=False), 'What messages add to each round.'
  )
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class SpeedKind(block.Choice):
  """A source of the clients' seconds, a value of `participation.speeds.kind`.

  Attributes:
    build: A function from the block `speeds`, the run's seed and the ids of all
      training clients to their seconds.
    check: A function that raises InputError for a block with inconsistent
      values.
    is_fixed: Whether the seconds are the same in every round.
    is_exponential: Whether all clients' seconds have one exponential
      distribution.
    path: A function from the block to the path of the file that it names; ''
      for none.
  """

  build: Callable[[config_fields.Values, int, Sequence[str]], simulation.Speeds]
  check: Callable[[config_fields.Values], None] = lambda own: None
  is_fixed: bool = False
  is_exponential: bool = False
  path: Callable[[config_fields.Values], str] = lambda own: ''


def _check_scales(name: str, value: Any) -> None:
  fields.numbers(name, value)
  if len(value) != 2 or not 0 < value[0] <= value[1]:
    raise errors.unexpected(
      name, value, 'two positive numbers, the smaller first,'
    )


def _check_path(name: str, value: Any) -> None:
  fields.text(name, value)
  if not value:
    raise errors.unexpected(name, value, 'the path of a CSV file')


def _check_classes(own: config_fields.Values) -> None:
  if len(own.class_shares) != len(own.class_seconds):
    raise errors.InputError(
      'participation.speeds.class_shares and participation.speeds.class_seconds '
      f'must have as many numbers, got {len(own.class_shares)} and '
      f'{len(own.class_seconds)}.'
    )


def _build_classes(
  own: config_fields.Values, seed: int, client_ids: Sequence[str]
) -> simulation.Speeds:
  del client_ids
  classes = map(simulation.DeviceClass, own.class_shares, own.class_seconds)
  return simulation.device_class_speeds(list(classes), seed=seed)


def _trace_path(own: config_fields.Values) -> str:
  return os.path.expanduser(own.path)


KINDS: Mapping[str, SpeedKind] = {
  'exponential': SpeedKind(
    help='scale * Exp(1), drawn once for each client',
    fields={
      'scale': fields.Field(
        1.0, fields.number(positive=True), 'The mean seconds.'
      ),
      **_COMMUNICATION,
    },
    build=lambda own, seed, client_ids: simulation.fixed_exponential_speeds(
      seed=seed, scale=own.scale
    ),
    is_fixed=True,
    is_exponential=True,
  ),
  'dynamic': SpeedKind(
    help='scale_i * Exp(1), drawn each round',
    fields={
      'scales': fields.Field(
        (1.0, 100.0), _check_scales, 'From where to where scale_i is drawn.'
      ),
      **_COMMUNICATION,
    },
    build=lambda own, seed, client_ids: simulation.dynamic_exponential_speeds(
      seed=seed, scales=tuple(own.scales)
    ),
  ),
  'classes': SpeedKind(
    help="mean * Exp(1) with the mean of the client's class, drawn each round",
    fields={
      'class_shares': fields.Field(
        (0.5, 0.3, 0.2), fields.numbers, 'How many clients each class has.'
      ),
      'class_seconds': fields.Field(
        (1.0, 3.0, 10.0), fields.numbers, "The classes' mean seconds."
      ),
      **_COMMUNICATION,
    },
    build=_build_classes,
    check=_check_classes,
  ),
  'trace': SpeedKind(
    help='as measured, from a CSV file with the columns client_id and seconds',
    fields={
      'path': fields.Field('', _check_path, 'The file.'),
      **_COMMUNICATION,
    },
    build=lambda own, seed, client_ids: simulation.read_trace_speeds(
      _trace_path(own), client_ids
    ),
    is_fixed=True,
    path=_trace_path,
  ),
}
SPEEDS = block.Block(
  name='participation.speeds',
  help='How long clients take.',
  fields={
    'kind': fields.Field(
      'exponential', fields.one_of(*KINDS), 'The source of the seconds.'
    ),
    **_COMMUNICATION,
  },
  presets={kind: {'kind': kind} for kind in KINDS},
  chosen_by='kind',
  choices=KINDS,
)
