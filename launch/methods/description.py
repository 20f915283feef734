# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A description of all methods, blocks and tasks for the command line."""

from collections.abc import Iterator

from fedfish_tff import fields
from launch import installed
from launch.methods import building
from launch.methods import config_fields
from launch.methods import registry
from tasks import registry as task_registry


def describe() -> str:
  """Returns a text on all methods, with fields and support, and all blocks."""
  return '\n'.join(_lines())


def list_configs() -> str:
  """Returns all tasks with their options, all configs, and all variants."""
  names = installed.config_names()
  width = max(map(len, names))
  axes = sorted(
    axis
    for block in registry.own_blocks().values()
    for axis in block.all_axes()
  )
  return '\n'.join(
    [
      'Tasks; options, as --config.task.OPTION=VALUE',
      *_task_lines(),
      '\nConfigs, as --config=NAME:VARIANT',
      *(f'  {n:{width}}  {installed.describe_config(n)}' for n in names),
      f'Variants: {", ".join(registry.variants())}',
      f'Axes, as VARIANT,AXIS=VALUE: server, {", ".join(axes)}',
      '--methods prints the fields of methods and the values of axes.',
    ]
  )


def _task_lines() -> Iterator[str]:
  for name in task_registry.task_names():
    yield f'\n{name}'
    yield from fields.describe(task_registry.own_options(name))


def _lines() -> Iterator[str]:
  yield 'Methods, as --config=FILE:NAME; fields, as --config.algorithm.FIELD=VALUE'
  for name, method in registry.own_methods().items():
    yield f'\n{name} ({method.title})'
    if method.variants:
      yield f'  variants: {", ".join(method.variants)}'
    yield f'  supports: {", ".join(sorted(method.supports))}'
    yield from fields.describe(method.fields)
  yield '\nFields of every config, as --config.FIELD=VALUE'
  yield from fields.describe(config_fields.FIELDS)
  yield '\nBlocks, as axes of a variant; fields, as --config.BLOCK.FIELD=VALUE'
  for name, block in registry.own_blocks().items():
    of = f', of what supports {block.supports}' if block.supports else ''
    yield f'\n{name}{of}: {block.help}'
    yield from block.describe()
  yield '\nParts of a run that a block may change (launch.methods.building)'
  width = max(map(len, building.PARTS))
  yield from (f'  {n:{width}}  {told}' for n, told in building.PARTS.items())
