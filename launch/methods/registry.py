# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The methods by name: those of this package, and those of others.

A module of this package that has a METHOD is found by being there. Others are
named as package.module:NAME wherever a method is, or announced by an installed
package as an entry point of the group fedfish_tff.methods. Plain Python,
without TensorFlow.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import functools
import importlib
import json
import pkgutil
import typing
from typing import Any

from fedfish_tff import plug_ins
from launch import methods
from launch.methods import adapters
from launch.methods import building
from launch.methods import compression
from launch.methods import exchange
from launch.methods import fine_tuning
from launch.methods import method as method_lib
from launch.methods import weight_average

if typing.TYPE_CHECKING:
  from tasks.task import Task

  import tensorflow_federated as tff

ENTRY_POINTS = 'fedfish_tff.methods'


@functools.cache
def own_methods() -> Mapping[str, method_lib.Method]:
  """Returns the methods of this package by name."""
  found = {}
  for module in pkgutil.iter_modules(methods.__path__):
    method = getattr(
      importlib.import_module(f'{methods.__name__}.{module.name}'),
      'METHOD',
      None,
    )
    if method is not None:
      found[method.name] = method
  return found


def find_method(
  name: Any, *, field: str = 'algorithm.name', known: Iterable[str] = ()
) -> method_lib.Method:
  """Returns a method.

  Args:
    name: Its name, or package.module:NAME.
    field: Where the name stands, for the error.
    known: What else may stand there, for the error.

  Raises:
    errors.InputError: If there is no such method.
  """
  if isinstance(name, str) and name in own_methods():
    return own_methods()[name]
  method = plug_ins.load(
    name,
    field=field,
    group=ENTRY_POINTS,
    known=lambda: (*own_methods(), *known),
    is_one=lambda found: isinstance(found, method_lib.Method),
    expected='a launch.methods.method.Method',
  )
  # By which configs find it again.
  return dataclasses.replace(method, name=name)


def method_of(config: Mapping[str, Any]) -> method_lib.Method:
  """Returns the method of a checked config."""
  return find_method(config['algorithm']['name'])


def clients_keep_models(config: Mapping[str, Any]) -> bool:
  """Whether clients end up with models of their own.

  Args:
    config: A checked config.
  """
  unsent = config.get('exchange', {}).get('unsent')
  return method_of(config).keeps_models or unsent == exchange.CLIENT_KEEPS


def build_method(
  config: Mapping[str, Any],
  task: Task,
  *,
  start_weights: tff.learning.models.ModelWeights | None = None,
) -> building.BuiltMethod:
  """Builds the model and the process of a config.

  Args:
    config: A checked config.
    task: Its task.
    start_weights: What the start of a fine-tuning has led to; None for a
      config without one.

  Returns:
    What a run trains.

  Raises:
    errors.InputError: If the task does not go with the method.
  """
  built = method_of(config).build(
    building.Ingredients(
      config=config,
      task=adapters.adapt_task(config, task),
      start_weights=start_weights,
    )
  )
  return weight_average.apply(config, built)


def sharing_key(config: Mapping[str, Any]) -> str | None:
  """Returns what configs have in common whose runs may share what is built.

  Args:
    config: A checked config.

  Returns:
    A text, the same for these configs; None if the run builds its own. Where
    seeds may differ, so may the tasks' models, which is left to be checked.
  """
  across = method_of(config).shared_across(config)
  # Another run finds the weights that are frozen then.
  if not across or fine_tuning.has_start(config):
    return None
  # Frozen weights are built in.
  if 'fine_tuning' in config or 'adapters' in config:
    across = across - {'seed'}
  if compression.is_seeded(config):
    across = across - {'seed'}
  if 'privacy' in config:
    if config['privacy']['mechanism'] == 'tree':
      return None  # The noise is that of the config.
    # The noise is for the cohorts.
    across = across - {'cohort_size', 'participation', 'seed'}
  return json.dumps(
    {field: value for field, value in config.items() if field not in across},
    sort_keys=True,
  )


def find_variant(name: str) -> tuple[method_lib.Method, str]:
  """Returns the method of a variant, and which variant of the method it is.

  Args:
    name: A method's name, or that of one of its variants.

  Raises:
    errors.InputError: If there is no such variant.
  """
  for method in own_methods().values():
    if name in method.variants:
      return method, name
  return find_method(name, field='The variant', known=variants()), ''


def names(*supports: str) -> tuple[str, ...]:
  """Returns the names of our methods that support all of something."""
  return tuple(
    name
    for name, method in own_methods().items()
    if method.supports.issuperset(supports)
  )


def variants(*supports: str) -> tuple[str, ...]:
  """Returns the variants of our methods that support all of something."""
  return tuple(
    variant
    for name in names(*supports)
    for variant in (name, *own_methods()[name].variants)
  )
