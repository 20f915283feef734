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
import graphlib
import importlib
import pkgutil
from typing import Any

from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import plug_ins
from fedfish_tff import trust as trust_lib
from launch import methods
from launch.methods import block as block_lib
from launch.methods import method as method_lib

ENTRY_POINTS = 'fedfish_tff.methods'
# The field of another package's block that names its declaration.
DECLARATION = 'declaration'


@functools.cache
def own_methods() -> Mapping[str, method_lib.Method]:
  """Returns the methods of this package by name."""
  return {method.name: method for method in find_declarations('METHOD')}


def only_values(
  method: method_lib.Method,
  blocks: Mapping[str, block_lib.Block] | None = None,
) -> dict[str, tuple[str, Sequence[Any]]]:
  """Returns the fields that are restricted for lack of support.

  Args:
    method: The method that may lack it.
    blocks: The blocks by name; None for those of this package.

  Returns:
    For each dotted name, the name in `method.SUPPORTS` that the method lacks,
    and the values that do not need it, the usual one first.
  """
  only = {'local_epochs': ('local_epochs', (1,))}
  for block in (blocks or own_blocks()).values():
    only |= {f'{block.name}.{name}': o for name, o in block.only.items()}
  return {
    field: (support, values)
    for field, (support, values) in only.items()
    if support not in method.supports
  }


def rules(method: method_lib.Method) -> list[block_lib.Rule]:
  """Returns the values that a variant gives fields for the method's sake.

  They are rules in the order of their application, with reasons that follow
  the method's name.
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
    name: One of this package's, or package.module:NAME.
    field: The field that holds the name, for the error.
    known: The field's other values, for the error.
    trust: The trust in the config with the field, which a module needs.
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
  # The usual reasons are those of this package's methods; another one may just
  # not declare a support.
  reasons = {
    what: f'its supports lack {what!r}' for what in method_lib.SUPPORTS
  }
  return dataclasses.replace(
    method,
    name=name,  # Configs find the method again by this name.
    reasons={**reasons, **method.reasons},
  )


def find_variant(name: str) -> tuple[method_lib.Method, str]:
  """Returns the method of a variant, and the name of the variant.

  The name is that of a method or of one of its variants.
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


def find_declarations(name: str) -> list[Any]:
  """Returns the objects that the modules of this package define by a name."""
  modules = (
    importlib.import_module(f'{methods.__name__}.{module.name}')
    for module in pkgutil.iter_modules(methods.__path__)
  )
  return [getattr(module, name) for module in modules if hasattr(module, name)]


@functools.cache
def own_blocks() -> Mapping[str, block_lib.Block]:
  """Returns the blocks of this package by name, in the order of `Block.after`."""
  found = {declared.name: declared for declared in find_declarations('BLOCK')}
  for declared in find_declarations('BLOCKS'):
    found |= {one.name: one for one in declared.values()}
  return _in_order(found)


def _in_order(
  blocks: Mapping[str, block_lib.Block],
) -> dict[str, block_lib.Block]:
  """Returns blocks after those that their `Block.after` names.

  Blocks may not come after one another in a circle.
  """
  after = {name: block.after for name, block in blocks.items()}
  try:
    order = [*graphlib.TopologicalSorter(after).static_order()]
  except graphlib.CycleError as error:
    raise errors.InputError(
      'Blocks must be in an order by what they say in `after`, got '
      f'{" before ".join(error.args[1])}.'
    ) from error
  return {name: blocks[name] for name in order if name in blocks}


def find_block(
  name: Any, *, field: str, trust: trust_lib.Trust = trust_lib.PYTHON
) -> block_lib.Block:
  """Returns the block of another package.

  Args:
    name: The name of the declaration, package.module:NAME.
    field: The field that holds the name, for the error.
    trust: The trust in the config with the field, which the module needs.
  """
  fields.text(field, name)
  block = plug_ins.load(
    name,
    field=field,
    trust=trust,
    is_one=lambda found: isinstance(found, block_lib.Block),
    expected='a launch.methods.block.Block',
  )
  if block.name in own_blocks():
    raise errors.InputError(
      f'{field} must be a block with a name of its own, got {name!r}, whose '
      f'name is {block.name!r}.'
    )
  declaration = fields.Field(
    name, fields.one_of(name), 'The declaration of the block.'
  )
  return dataclasses.replace(
    block, fields={DECLARATION: declaration, **block.fields}
  )


def find_other_blocks(
  values: Mapping[str, Any], *, trust: trust_lib.Trust
) -> dict[str, block_lib.Block]:
  """Returns the blocks of other packages that a config has, by name.

  Args:
    values: The config as nested mappings.
    trust: The trust in the config, which their modules need.
  """
  found = {}
  for name, value in values.items():
    if (
      name in own_blocks()
      or name in ('algorithm', 'task')
      or not isinstance(value, Mapping)
      or DECLARATION not in value
    ):
      continue
    field = f'{name}.{DECLARATION}'
    block = find_block(value[DECLARATION], field=field, trust=trust)
    if block.name != name:
      raise errors.InputError(
        f'{field} must declare a block {name}, got {value[DECLARATION]!r}, '
        f'whose block is {block.name}.'
      )
    found[name] = block
  return found


def known_blocks(
  others: Mapping[str, block_lib.Block],
) -> Mapping[str, block_lib.Block]:
  """Returns the blocks of this package and others by name, in their order."""
  return _in_order({**own_blocks(), **others}) if others else own_blocks()
