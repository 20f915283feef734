# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A text on all methods and on what they combine with, for the command line."""

from collections.abc import Iterator
from collections.abc import Mapping

from launch.methods import adapters
from launch.methods import aggregation
from launch.methods import building
from launch.methods import compression
from launch.methods import config_checks
from launch.methods import early_stopping
from launch.methods import exchange
from launch.methods import fields as fields_lib
from launch.methods import fine_tuning
from launch.methods import participation
from launch.methods import privacy
from launch.methods import registry
from launch.methods import schedules
from launch.methods import weight_average


def describe() -> str:
  """Returns what each method is called, has and supports."""
  return '\n'.join(_lines())


def _lines() -> Iterator[str]:
  yield 'Methods, as --config=FILE:NAME; fields, as --config.algorithm.FIELD=VALUE'
  for name, method in registry.own_methods().items():
    yield f'\n{name} ({method.title})'
    if method.variants:
      yield f'  variants: {", ".join(method.variants)}'
    yield f'  supports: {", ".join(sorted(method.supports))}'
    yield from _fields(method.fields)
  for block, axis, fields in (
    ('adapters', ','.join(adapters.PRESETS), adapters.FIELDS),
    ('exchange', ','.join(exchange.PRESETS), exchange.FIELDS),
    ('fine_tuning', ','.join(fine_tuning.STRATEGIES), fine_tuning.FIELDS),
    ('privacy', ','.join(privacy.PRESETS), privacy.FIELDS),
    ('aggregation', ','.join(aggregation.PRESETS), aggregation.FIELDS),
    ('compression', ','.join(compression.PRESETS), compression.FIELDS),
  ):
    yield (
      f'\n{block}, of what supports {_supports(block)}: --config=FILE:NAME,{block}='
      f'{{{axis}}}; --config.{block}.FIELD=VALUE'
    )
    yield from _fields(fields)
  yield (
    f'\n{" and ".join(building.SCHEDULES.values())}, of learning rates: '
    f'--config=FILE:NAME,client_schedule={{{",".join(schedules.PRESETS)}}}; '
    '--config.client_schedule.FIELD=VALUE'
  )
  yield from _fields(schedules.FIELDS)
  yield (
    '\nearly_stopping, of what trains by steps: --config=FILE:NAME,early_stopping='
    f'{{{",".join(early_stopping.PRESETS)}}}; --config.early_stopping.FIELD=VALUE'
  )
  yield from _fields(early_stopping.FIELDS)
  yield (
    '\nweight_average, of methods whose clients keep nothing: '
    f'--config=FILE:NAME,weight_average={{{",".join(weight_average.PRESETS)}}}; '
    '--config.weight_average.FIELD=VALUE'
  )
  yield from _fields(weight_average.FIELDS)
  yield (
    '\nparticipation, of any method: --config=FILE:NAME,participation='
    f'{{{",".join(participation.POLICIES)}}}; --config.participation.FIELD=VALUE'
  )
  yield from _fields(participation.OPTIONS)
  for name, policy in participation.POLICIES.items():
    yield f' {name}: {policy.help}'
    yield from _fields(policy.fields)
  yield (
    '\nspeeds, of any participation: --config=FILE:NAME,speeds='
    f'{{{",".join(participation.SPEEDS)}}}; '
    '--config.participation.speeds.FIELD=VALUE'
  )
  yield from _fields({'communication_seconds': participation.COMMUNICATION})
  for name, speeds in participation.SPEEDS.items():
    yield f' {name}: {speeds.help}'
    yield from _fields(speeds.fields)


def _supports(block: str) -> str:
  """Returns what a method with a block has among what it supports."""
  support, _ = config_checks.OPTIONAL[block]
  return 'it' if support == block else support


def _fields(fields: Mapping[str, fields_lib.Field]) -> Iterator[str]:
  for name, field in fields.items():
    yield f'  {name}={field.default!r}: {field.help}'
