# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A declaration of a block that a config may have beside its method.

A module of this package has one as BLOCK, or several as BLOCKS, and is found by
being there. A block's name is an axis of variants, too:
--config=FILE:METHOD,NAME=PRESET. Plain Python, without TensorFlow, which `build`
imports.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Container
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import importlib
import pkgutil
import typing
from typing import Any
from typing import NamedTuple

from fedfish_tff import errors
from launch import methods
from launch.methods import config as config_lib
from launch.methods import fields as fields_lib

if typing.TYPE_CHECKING:
  from launch.methods import building
  from launch.methods import method as method_lib

# The parts of a run that `build` may change, in the order in which they are made.
TASK = 'task'
MODEL = 'model'
CLIENT_OPTIMIZER = 'client_optimizer'
# None for TFF's own mean.
MEAN = 'mean'
AGGREGATOR = 'aggregator'
PROCESS = 'process'

BuildFn = Callable[['building.Ingredients', Any], Any]


class Rule(NamedTuple):
  """A field elsewhere in the config that a block needs to have some values.

  A variant with the block has the first of these values there.

  Attributes:
    field: The dotted name of a field, or of a block that must not be there. A
      config without it keeps the rule.
    values: The values that it may have; none for a block.
    reason: A clause for the error, 'which ...' or the like, after the block that
      must not be there, or after '<field> is <value>, but <block>, '.
    when: By fields of the block itself, the values with which the rule holds.
  """

  field: str
  values: Sequence[Any]
  reason: str
  when: Mapping[str, Container[Any]] = {}

  def holds(self, own: config_lib.Values) -> bool:
    """Whether the values of the block make the rule one."""
    return all(getattr(own, n) in values for n, values in self.when.items())


@dataclasses.dataclass(frozen=True, kw_only=True)
class Block:
  """A block as configs, runs and tables know it.

  Attributes:
    name: The name in configs and of the axis.
    help: A phrase or two for --methods.
    fields: The fields by name.
    presets: The values of the axis, each with the fields that it changes.
    axes: A function that returns further axes, each of the form of `presets`.
    supports: The name in `method.SUPPORTS` that a method with the block needs;
      '' for any method.
    refuse: The reason why a method that supports this has no such block all the
      same; '' for a method that may have it.
    only: By field, another such name, and the values with methods that do not
      support it.
    goes_with: What the block needs of other fields and blocks.
    check: Raises InputError for a config whose block has values that go neither
      with each other nor with the rest, where `goes_with` cannot say it.
    label: From a config and the name of its method, in tables and figures, to
      the name of the method with the block.
    in_loop: Whether the block is for the loop of rounds alone: no process is
      built from it.
    shares: From a config to the fields that what is built depends on because of
      the block, so that runs which differ there build their own; None where no
      two runs share anything.
    build: By the part of a run, from ingredients and the part to the one in its
      place.
  """

  name: str
  help: str
  fields: Mapping[str, fields_lib.Field]
  presets: Mapping[str, Mapping[str, Any]]
  axes: Callable[[], Mapping[str, Mapping[str, Mapping[str, Any]]]] = dict
  supports: str = ''
  refuse: Callable[[method_lib.Method], str] = lambda method: ''
  only: Mapping[str, tuple[str, Sequence[Any]]] = dataclasses.field(
    default_factory=dict
  )
  goes_with: Sequence[Rule] = ()
  check: Callable[[config_lib.Config], None] = lambda config: None
  label: Callable[[config_lib.Config, str], str] = lambda config, name: name
  in_loop: bool = False
  shares: Callable[[config_lib.Config], frozenset[str] | None] = lambda config: (
    frozenset()
  )
  build: Mapping[str, BuildFn] = dataclasses.field(default_factory=dict)

  def defaults(self, preset: str, **others: str) -> dict[str, Any]:
    """Returns the block of a config.

    Args:
      preset: The name of a preset.
      **others: The values of further axes.
    """
    block = {**fields_lib.defaults(self.fields), **self.presets[preset]}
    for axis, value in others.items():
      block |= self.axes()[axis][value]
    return block

  def read(self, values: Mapping[str, Any]) -> config_lib.Values:
    """Returns the fields of the block of a config.

    Args:
      values: The block.

    Raises:
      errors.InputError: If a field is missing, unknown or refused.
    """
    fields_lib.check_block(f'{self.name}.', values, self.fields)
    return config_lib.Values.of(values)

  def describe(self) -> list[str]:
    """Returns lines on the axes and the fields."""
    axes = {self.name: self.presets, **self.axes()}
    return [
      *(
        f'  --config=FILE:NAME,{axis}={{{",".join(presets)}}}'
        for axis, presets in axes.items()
      ),
      *fields_lib.describe(self.fields),
    ]

  def check_rules(
    self, config: config_lib.Config, flat: Mapping[str, Any]
  ) -> None:
    """Checks what the block needs of a config that has it.

    Args:
      config: The config.
      flat: Its values by dotted names.

    Raises:
      errors.InputError: If something is not as it has to be.
    """
    own = config.blocks[self.name]
    for rule in self.goes_with:
      found = flat.get(rule.field)
      is_there = rule.field in flat or rule.field in config.blocks
      if not is_there or found in rule.values or not rule.holds(own):
        continue
      cause = [f'{self.name}.{n} is {getattr(own, n)!r}' for n in rule.when]
      if not rule.values and not cause:
        raise errors.InputError(
          f'The config has a block {rule.field}, {rule.reason}, and a block '
          f'{self.name}; one of them was expected.'
        )
      what = f'{rule.field} is {found!r}'
      expected = ' or '.join(map(repr, rule.values))
      if not rule.values:
        what, expected = f'The config has a block {rule.field}', 'none'
      cause = cause or [f'the config has a block {self.name}']
      raise errors.InputError(
        f'{what}, but {cause[0]}, {rule.reason}; {expected} was expected.'
      )
    self.check(config)


def find_declarations(name: str) -> list[Any]:
  """Returns what the modules of this package have under a name."""
  modules = (
    importlib.import_module(f'{methods.__name__}.{module.name}')
    for module in pkgutil.iter_modules(methods.__path__)
  )
  return [getattr(module, name) for module in modules if hasattr(module, name)]


@functools.cache
def own_blocks() -> Mapping[str, Block]:
  """Returns the blocks by name."""
  found = {declared.name: declared for declared in find_declarations('BLOCK')}
  for declared in find_declarations('BLOCKS'):
    found |= {one.name: one for one in declared.values()}
  return found


def blocks_of(config: config_lib.Config) -> list[Block]:
  """Returns the declarations of the blocks that a config has."""
  return [b for name, b in own_blocks().items() if name in config.blocks]
