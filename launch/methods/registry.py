# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The methods by name, those of this package and those of others.

A module of this package that has a METHOD is found without being registered.
Other methods are named package.module:NAME, or an installed package announces
them as entry points of the group fedfish_tff.methods. This is plain Python,
without TensorFlow.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import json
import typing
from typing import Any

from fedfish_tff import fields
from fedfish_tff import plug_ins
from fedfish_tff import trust as trust_lib
from launch.methods import block as block_lib
from launch.methods import building
from launch.methods import config as config_lib
from launch.methods import method as method_lib
from launch.methods import optimizers
from launch.methods import participation

if typing.TYPE_CHECKING:
  from tasks.task import Task

  import tensorflow_federated as tff

ENTRY_POINTS = 'fedfish_tff.methods'
_PARTICIPATION = 'participation.name'


@functools.cache
def own_methods() -> Mapping[str, method_lib.Method]:
  """Returns the methods of this package by name."""
  return {
    method.name: method for method in block_lib.find_declarations('METHOD')
  }


def only_values(
  method: method_lib.Method,
  blocks: Mapping[str, block_lib.Block] | None = None,
) -> dict[str, tuple[str, Sequence[Any]]]:
  """Returns the fields that are restricted for lack of support.

  Args:
    method: The method.
    blocks: The blocks by name; None for those of this package.

  Returns:
    For each dotted name, the name in `method.SUPPORTS` that the method lacks,
    and the values that do not need it, the usual one first.
  """
  only = {'local_epochs': ('local_epochs', (1,))}
  for block in (blocks or block_lib.own_blocks()).values():
    only |= {f'{block.name}.{name}': o for name, o in block.only.items()}
  return {
    field: (support, values)
    for field, (support, values) in only.items()
    if support not in method.supports
  }


def rules(method: method_lib.Method) -> list[block_lib.Rule]:
  """Returns the values that a variant gives fields for the method's sake.

  Args:
    method: The method.

  Returns:
    Rules in the order of their application, with reasons that follow the
    method's name.
  """
  found = [
    block_lib.Rule(field, values, method.why_not(support))
    for field, (support, values) in only_values(method).items()
  ]
  if method.personalizes or method.keeps_models:
    found.append(
      block_lib.Rule(
        'evaluation.personalization_epochs',
        fields.POSITIVE,
        'its clients end up with models of their own',
      )
    )
  return found


def find_method(
  name: Any,
  *,
  field: str = 'algorithm.name',
  known: Iterable[str] = (),
  trust: trust_lib.Trust = trust_lib.PYTHON,
) -> method_lib.Method:
  """Returns a method.

  Args:
    name: Its name, or package.module:NAME.
    field: The field that holds the name, for the error.
    known: The field's other values, for the error.
    trust: The trust in the config with the field.

  Raises:
    errors.InputError: If there is no such method, or its module is not trusted.
  """
  if isinstance(name, str) and name in own_methods():
    return own_methods()[name]
  method = plug_ins.load(
    name,
    field=field,
    trust=trust,
    group=ENTRY_POINTS,
    known=lambda: (*own_methods(), *known),
    is_one=lambda found: isinstance(found, method_lib.Method),
    expected='a launch.methods.method.Method',
  )
  # Configs find the method again by this name.
  return dataclasses.replace(method, name=name)


def build_method(
  config: config_lib.Config,
  task: Task,
  *,
  start_weights: tff.learning.models.ModelWeights | None = None,
) -> building.BuiltMethod:
  """Builds the model and the process of a config.

  Args:
    config: The config.
    task: The task.
    start_weights: The weights that the start of a fine-tuning has found; None
      for a config without a start.

  Returns:
    The model to train and its process.

  Raises:
    errors.InputError: If the task does not fit the method.
  """
  parts = building.prepare(config, task, start_weights=start_weights)
  built = config.method.build(parts)
  return dataclasses.replace(
    built, process=parts.change(block_lib.PROCESS, built.process)
  )


def label(config: config_lib.Config) -> str:
  """Returns the name of a config's method with all that makes it another one.

  Args:
    config: The config.

  Returns:
    The published name with that of blocks, and the differences from the
    published form after commas: 'Partial FedAvg, clients weighted equally'.
  """
  return ', '.join([name_method(config), *deviations(config).values()])


def deviations(config: config_lib.Config) -> dict[str, str]:
  """Returns words for what differs from a method's published form, by field."""
  method = config.method
  found = {}
  for name, field in method.fields.items():
    value = getattr(config.algorithm, name)
    if field.label and value != field.default:
      found[f'algorithm.{name}'] = field.label(value)
  server = getattr(config.algorithm, 'server_optimizer', None)
  if server in method.server_titles:
    del found['algorithm.server_optimizer']
  rate = config.server_learning_rate
  # The steps of adaptive servers, and FedSGD's, have no published rate.
  if (
    rate not in (None, 1)
    and not method.steps_at_server
    and not optimizers.OPTIMIZERS[server].is_adaptive
  ):
    found[config_lib.SERVER_RATE] = f'server rate {fields.exact(rate)}'
  if not _is_usual_participation(config):
    found[_PARTICIPATION] = participation_title(config)
  for block in config.declared:
    found |= block.deviations(config)
  if cap := config.max_examples_per_client:
    examples = 'example' if cap == 1 else 'examples'
    found['max_examples_per_client'] = f'at most {cap} {examples} per client'
  # What a block needs is part of its own published form.
  for field in needed_by_blocks(config).keys() & found.keys():
    del found[field]
  return found


def participation_title(config: config_lib.Config) -> str:
  """Returns the name of a config's participation in labels."""
  return participation.policy_of(config).title


def _is_usual_participation(config: config_lib.Config) -> bool:
  is_asynchronous = participation.policy_of(config).is_asynchronous
  if is_asynchronous or config.method.is_asynchronous:
    # Without late answers, such a method is another one: FedBuff is FedAvg.
    return is_asynchronous and config.method.is_asynchronous
  default = participation.BLOCK.fields['name'].default
  _, usual = only_values(config.method).get(_PARTICIPATION, ('', ()))
  return config.participation.name in (default, *usual)


def needed_by_blocks(config: config_lib.Config) -> dict[str, Sequence[Any]]:
  """Returns the values that fields can have with a config's blocks, by field."""
  return {
    rule.field: rule.values
    for block in config.declared
    for rule in block.goes_with
    if rule.values and rule.holds(config.blocks[block.name])
  }


def name_method(config: config_lib.Config) -> str:
  """Returns the name of a config's method and blocks, as 'Partial FedAdam'."""
  name = config.method.server_titles.get(
    getattr(config.algorithm, 'server_optimizer', None), config.method.title
  )
  for block in config.declared:
    name = block.label(config, name)
  return name


def sharing_key(config: config_lib.Config) -> str | None:
  """Returns a key, equal for configs that can share built computations.

  Args:
    config: The config of a run.

  Returns:
    The key as a string; None if the run shares nothing. Configs of one key may
    differ in seeds and so in the tasks' models, which the caller must check.
  """
  method = config.method
  seed = {'seed'} if method.draws(config.algorithm) else set()
  across = method.shared_across - seed
  if not across:
    return None
  blocks = config.declared
  across |= {block.name for block in blocks if block.in_loop}
  for block in blocks:
    built_from = block.built_from(config)
    if built_from is None:
      if block.in_loop:
        continue
      return None
    across -= built_from
  return json.dumps(
    {name: v for name, v in config.values.items() if name not in across},
    sort_keys=True,
  )


def find_variant(name: str) -> tuple[method_lib.Method, str]:
  """Returns the method of a variant, and the name of the variant.

  Args:
    name: The name of a method or of one of its variants.

  Raises:
    errors.InputError: If there is no such variant.
  """
  for method in own_methods().values():
    if name in method.variants:
      return method, name
  return find_method(name, field='The variant', known=variants()), ''


def names(*supports: str) -> tuple[str, ...]:
  """Returns the names of this package's methods with all these supports."""
  return tuple(
    name
    for name, method in own_methods().items()
    if method.supports.issuperset(supports)
  )


def variants(*supports: str) -> tuple[str, ...]:
  """Returns the variants of this package's methods with all these supports."""
  return tuple(
    variant
    for name in names(*supports)
    for variant in (name, *own_methods()[name].variants)
  )
