# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Configs with all fields, by variant.

A variant is a method, or a variant of one, with axes that change its
combination with blocks, such as

  fed_fish                          the method with the config's values
  fed_avg,server=adam               FedAvg with Adam at the server: FedAdam
  per_example                       FedFish's variant
  fed_avg,exchange=partial          clients send the half that moved furthest
  fed_avg,fine_tuning=ft_lp,start=fed3r
                                    only the classifier, starting from Fed3R's
  fed_avg,my_package.my_module:BLOCK=mild
                                    with the block of another package

`python -m launch.train --methods` lists the methods with their variants and
fields, and the blocks, which give axes their names and values. Further axes
change values of the config:

  server      the server's optimizer; the usual sgd of rate 1 takes the aggregate
              as it is: FedAvg as in McMahan et al., FedFish as in Algorithms 1
              and 2
  size        and others that the config's docstring names

A value of a config comes from the last of three places that has one:

  declaration  the defaults of fields, methods and blocks in launch/methods, and
               of the options of tasks
  file         the arguments of `create_config` in the config file
  variant      the axes

A method or a block refuses some values of other fields. Its declaration has
rules that replace them in a variant: clients that keep a part of the model have
no barrier to measure. --print_config and --dry_run of launch.train tell each
replaced value with the reason.
"""

from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from fedfish_tff import errors
from fedfish_tff import fields as fields_lib
from launch.methods import block as block_lib
from launch.methods import config_fields
from launch.methods import method as method_lib
from launch.methods import optimizers
from launch.methods import participation
from launch.methods import registry
from tasks import registry as task_registry

import ml_collections
from ml_collections import config_dict

ConfigDict = ml_collections.ConfigDict

# The changes that each value of an axis makes, by the dotted names of fields.
Axes = Mapping[str, Mapping[str, Mapping[str, Any]]]

# The changes of an axis for the runs of docs/results.md.
FEW_ROUNDS: Mapping[str, Any] = {
  'rounds': 32,
  'evaluate_every': 4,
  'checkpoint_every': 16,
}

# The attribute of a config with a value and the sentence on it by field, of
# which `overruled` tells.
_OVERRULED = '_overruled'


def create_config(
  variant: str,
  *,
  server_optimizer: str | None = None,
  adaptive_server_rate: float = optimizers.ADAPTIVE_RATE,
  axes: Axes | None = None,
  visiting_rounds: int | None = None,
  fields: Mapping[str, Any] | None = None,
  **values: Any,
) -> ConfigDict:
  """Returns a config with all fields.

  Args:
    variant: A method or a variant of one, and axes, as the module describes.
    server_optimizer: The server's optimizer unless the axis server chooses it;
      None for the method's own.
    adaptive_server_rate: The server's learning rate with an adaptive optimizer,
      such as Adam. With others it is 1, so that sgd takes the aggregate as it
      is; or for FedSGD, whose server steps along the gradient, the clients'. A
      `server_learning_rate` among the values holds without the axis server.
    axes: The axes of the task itself.
    visiting_rounds: The number of rounds in which all training clients of a
      task with features come once. A closed form has these rounds, and so has
      the start of a fine-tuning, before the fine-tuning's own `rounds`.
    fields: The values of fields, by dotted name, that only some variants have.
    **values: The task's values of fields. The block `task` needs only the
      options of a task of this package that differ from their defaults.
  """
  name, chosen = parse_variant(variant)
  method, method_variant = registry.find_variant(name)
  own = axes or {}
  others, chosen = _find_others(chosen)
  _check_axes(variant, chosen, own, others)
  declared = fields_lib.defaults(config_fields.FIELDS)
  config = ConfigDict(
    {
      **{name: v for name, v in declared.items() if v is not None},
      'algorithm': method.defaults(method_variant),
      **{
        name: block.defaults()
        for name, block in registry.own_blocks().items()
        if block.in_all_configs
      },
    }
  )
  if 'task' in values:
    values['task'] = _with_options(values['task'])
  # Not a field, which would be one of config.json.
  object.__setattr__(config, _OVERRULED, {})
  config.update(values)
  if 'server_optimizer' in config.algorithm:
    usual = server_optimizer or config.algorithm.server_optimizer
    config.algorithm.server_optimizer = chosen.get('server', usual)
  elif 'server' in chosen:
    raise errors.InputError(
      f'The variant {variant!r} must have no axis server, since {method.name} '
      'has no server optimizer.'
    )
  for axis, changes in own.items():
    for field, value in changes.get(chosen.get(axis), {}).items():
      _set(config, field, value)
  _choose_rates(config, method, adaptive_server_rate, chosen)
  for rule in registry.rules(method):
    _overrule(config, rule, f' for {method.name}: {rule.reason}')
  policy = participation.POLICIES[config.participation.name]
  if policy.visits_once and visiting_rounds is not None:
    reason = 'all clients come once in the visiting_rounds of the config file'
    _replace(config, 'rounds', visiting_rounds, f': {reason}')
  for block in _ordered_blocks(others):
    _add_block(config, block, chosen, method)
  if 'start' in chosen and 'rounds' in config and visiting_rounds:
    reason = "the start takes the config file's visiting_rounds before them"
    _replace(config, 'rounds', config.rounds + visiting_rounds, f': {reason}')
  for field, value in (fields or {}).items():
    _set(config, field, value)
  return config


def overruled(config: ConfigDict) -> list[str]:
  """Returns a sentence for each value that a rule has replaced.

  Args:
    config: The config of a config file, maybe changed since: values that hold
      no more are left out. A config that `create_config` has not made has none.
  """
  found = []
  for field, (value, line) in vars(config).get(_OVERRULED, {}).items():
    block, last = _owner(config, field)
    if block.get(last) == value:
      found.append(line)
  return found


def _with_options(task: Mapping[str, Any]) -> dict[str, Any]:
  """Returns the block `task`, with the defaults of a task of this package."""
  options = task_registry.own_options(task['name'])
  return {
    'name': task['name'],
    **{
      name: config_dict.placeholder(option.check.type)
      if option.default is None
      else option.default
      for name, option in options.items()
    },
    **task,
  }


def _choose_rates(
  config: ConfigDict,
  method: method_lib.Method,
  adaptive_rate: float,
  chosen: Mapping[str, str],
) -> None:
  """Leaves out rates that the method lacks, and sets the server's.

  Args:
    config: The config, which is changed.
    method: The method of the config.
    adaptive_rate: The server's learning rate with an adaptive optimizer.
    chosen: The axes of the variant with their values.
  """
  for rate in (config_fields.CLIENT_RATE, config_fields.SERVER_RATE):
    if rate in config and rate not in method.learning_rates:
      _replace(
        config, rate, None, f' for {method.name}, which has no such rate'
      )
  if config_fields.SERVER_RATE not in method.learning_rates:
    return
  usual = method.server_rate(
    config.algorithm.server_optimizer,
    client_rate=config.get(config_fields.CLIENT_RATE),
    adaptive_rate=adaptive_rate,
  )
  is_usual = 'server' in chosen or config_fields.SERVER_RATE not in config
  if is_usual and usual is not None:
    _replace(
      config,
      config_fields.SERVER_RATE,
      usual,
      ', the rate of the chosen server',
    )


def _find_others(
  chosen: Mapping[str, str],
) -> tuple[dict[str, block_lib.Block], dict[str, str]]:
  """Returns other packages' blocks by name, and the axes by their names."""
  others, named = {}, {}
  for axis, value in chosen.items():
    if ':' in axis:
      block = registry.find_block(axis, field='The axis')
      others[block.name] = block
      axis = block.name
    named[axis] = value
  return others, named


def _ordered_blocks(
  others: Mapping[str, block_lib.Block],
) -> list[block_lib.Block]:
  """Returns the blocks, with those that others' rules may change last."""
  blocks = registry.known_blocks(others).values()
  return sorted(blocks, key=lambda block: block.in_all_configs)


def _add_block(
  config: ConfigDict,
  block: block_lib.Block,
  chosen: Mapping[str, str],
  method: method_lib.Method,
) -> None:
  """Adds a block that axes choose, and sets other fields by its rules."""
  others = {axis: chosen[axis] for axis in block.axes() if axis in chosen}
  if block.name not in chosen and not others:
    return
  # An axis for speeds only keeps the config's participation.
  preset = chosen.get(block.name) or config[block.name][block.chosen_by]
  config[block.name] = block.defaults(preset, **others)
  # What the variant says is not replaced, but refused.
  said = set(block.presets.get(preset, {}))
  said |= {
    n for axis, value in others.items() for n in block.axes()[axis][value]
  }
  for name, (support, known) in block.only.items():
    if support not in method.supports and name not in said:
      rule = block_lib.Rule(
        f'{block.name}.{name}', known, method.why_not(support)
      )
      _overrule(config, rule, f' for {method.name}: {rule.reason}')
  values = config_fields.Values.of(config[block.name].to_dict())
  for rule in (*block.goes_with, *block.sets):
    is_chosen = rule.field.partition('.')[0] in chosen
    if rule.values and rule.holds(values) and not is_chosen:
      _overrule(config, rule, f': {rule.cause(block.name, values)}')


def parse_variant(variant: str) -> tuple[str, dict[str, str]]:
  """Splits a variant, <name>[,<axis>=<value> ...], into its name and axes.

  Each axis has one value. The second result maps axes to their values.
  """
  name, *parts = variant.split(',')
  chosen = {}
  for part in parts:
    axis, equals, value = part.partition('=')
    if not equals or axis in chosen:
      raise errors.InputError(
        f'The axes of variant {variant!r} must be <axis>=<value>, each axis '
        f'once, got {part!r}.'
      )
    chosen[axis] = value
  return name, chosen


def value_of(axis: str, variant: str, known: Iterable[str]) -> str:
  """Returns the value that a variant gives an axis, or else the usual one.

  Args:
    axis: The axis, such as 'size'.
    variant: The variant; `create_config` refuses one with an unknown value.
    known: The values, the usual one first.
  """
  usual, *others = known
  value = parse_variant(variant)[1].get(axis)
  return value if value in others else usual


def _check_axes(
  variant: str,
  chosen: Mapping[str, str],
  own: Axes,
  others: Mapping[str, block_lib.Block],
) -> None:
  known = {'server': optimizers.OPTIMIZERS}
  needed = {}
  for block in _ordered_blocks(others):
    known |= block.all_axes()
    # The axes of a block that is there anyway need no other.
    if not block.in_all_configs:
      needed |= dict.fromkeys(block.axes(), block.name)
  known |= own
  for axis, value in chosen.items():
    errors.check_member(f'The axis of variant {variant!r}', axis, known)
    errors.check_member(f'{axis} of variant {variant!r}', value, known[axis])
    if axis in needed and needed[axis] not in chosen:
      raise errors.InputError(
        f'The variant {variant!r} must have {axis} and {needed[axis]} '
        f'together, got {axis} alone.'
      )


def _owner(config: ConfigDict, field: str) -> tuple[Mapping[str, Any], str]:
  """Returns the block of a field, empty if missing, and the name in it."""
  *blocks, last = field.split('.')
  block = config
  for inner in blocks:
    block = block.get(inner, {})
  return block, last


def _set(config: ConfigDict, field: str, value: Any) -> None:
  """Sets a field if the config has it."""
  block, last = _owner(config, field)
  if last in block:
    block[last] = value


def _overrule(config: ConfigDict, rule: block_lib.Rule, why: str) -> None:
  """Sets a field to the first value of a rule unless it has one of them."""
  block, last = _owner(config, rule.field)
  if last in block and block[last] not in rule.values:
    _replace(config, rule.field, rule.values[0], why)


def _replace(config: ConfigDict, field: str, value: Any, why: str) -> None:
  """Replaces a value, or leaves the field out, and notes it for `overruled`.

  Args:
    config: The config, which is changed.
    field: The dotted name of the field.
    value: The new value; None to leave the field out.
    why: The end of the sentence.
  """
  block, last = _owner(config, field)
  if last in block and block[last] != value:
    told = f'is {value!r} instead of {block[last]!r}'
    if value is None:
      told = f'{block[last]!r} is left out'
    vars(config)[_OVERRULED][field] = value, f'{field} {told}{why}.'
  if value is None:
    del block[last]
  else:
    block[last] = value
