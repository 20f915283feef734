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

`python -m launch.train --methods` lists the methods with their variants and
fields, and the blocks, which give axes their names and values. Further axes
overrule a value of the config:

  server      the server's optimizer; the usual sgd of rate 1 takes the aggregate
              as it is: FedAvg as in McMahan et al., FedFish as in Algorithms 1
              and 2
  size        and others that the config's docstring names
"""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from fedfish_tff import errors
from launch.methods import block as block_lib
from launch.methods import config as config_lib
from launch.methods import evaluation
from launch.methods import exchange
from launch.methods import method as method_lib
from launch.methods import optimizers
from launch.methods import registry

import ml_collections

ConfigDict = ml_collections.ConfigDict

# The changes that each value of an axis makes, by the dotted names of fields.
Axes = Mapping[str, Mapping[str, Mapping[str, Any]]]

# The published client learning rate of Fed3R's fine-tuning.
_FINE_TUNING_LEARNING_RATE = 0.01

# The changes of an axis for the runs of docs/results.md.
FEW_ROUNDS: Mapping[str, Any] = {
  'rounds': 32,
  'evaluate_every': 4,
  'checkpoint_every': 16,
}


def create_config(
  variant: str,
  *,
  server_optimizer: str = 'sgd',
  adaptive_server_rate: float = 0.01,
  axes: Axes | None = None,
  visiting_rounds: int | None = None,
  fields: Mapping[str, Any] | None = None,
  **values: Any,
) -> ConfigDict:
  """Returns a config with all fields.

  Args:
    variant: A method or a variant of one, and axes; see the module.
    server_optimizer: The server's optimizer unless the axis server chooses it.
    adaptive_server_rate: The server's learning rate with an adaptive optimizer,
      such as Adam. With others it is 1, so that sgd takes the aggregate as it
      is; or for FedSGD, whose server steps along the gradient, the clients'. A
      `server_learning_rate` among the values holds without the axis server.
    axes: The axes of the task itself.
    visiting_rounds: The number of rounds in which all training clients of a
      task with features come once. A closed form has these rounds, and so has
      the start of a fine-tuning, before the fine-tuning's own `rounds`.
    fields: The values of fields, by dotted name, that only some variants have.
    **values: The task's values of fields.

  Returns:
    The config.

  Raises:
    ValueError: If the variant is unknown, or is not available for the task.
  """
  name, chosen = parse_variant(variant)
  method, method_variant = registry.find_variant(name)
  own = axes or {}
  _check_axes(variant, chosen, own)
  config = ConfigDict(
    {
      'seed': 0,
      'algorithm': method.defaults(method_variant),
      # The rounds between two evaluations, and between two checkpoints.
      'evaluate_every': 5,
      'checkpoint_every': 10,
      # 0 to train on, whatever happens.
      'stop_after_diverged_rounds': 5,
      # 0 means no cap.
      'max_examples_per_client': 0,
      'participation': {'name': 'uniform'},
      'evaluation': evaluation.BLOCK.defaults(),
    }
  )
  config.update(values)
  if 'server_optimizer' in config.algorithm:
    config.algorithm.server_optimizer = chosen.get('server', server_optimizer)
  elif 'server' in chosen:
    raise errors.InputError(
      f'The variant {variant!r} must have no axis server, since {method.name} '
      'has no server optimizer.'
    )
  for axis, changes in own.items():
    for field, value in changes.get(chosen.get(axis), {}).items():
      _set(config, field, [value])
  if 'server' in chosen or config_lib.SERVER_RATE not in config:
    _set_server_rate(config, method, adaptive_server_rate)
  _leave_out_unsupported(config, method, visiting_rounds)
  for block in _ordered_blocks():
    _add_block(config, block, chosen)
  if 'start' in chosen:
    config.client_learning_rate = _FINE_TUNING_LEARNING_RATE
    # The visits of the start count as rounds.
    if 'rounds' in config:
      config.rounds += visiting_rounds or 0
  for field, value in (fields or {}).items():
    _set(config, field, [value])
  if _ends_in_own_models(config, method):
    # Their promise is a fine-tuned model, whatever the task's other configs do.
    own = config.evaluation
    own.personalization_epochs = own.personalization_epochs or 1
  return config


def _ends_in_own_models(config: ConfigDict, method: method_lib.Method) -> bool:
  unsent = config.get('exchange', {}).get('unsent')
  return (
    method.personalizes
    or method.keeps_models
    or unsent == exchange.CLIENT_KEEPS
  )


def _set_server_rate(
  config: ConfigDict, method: method_lib.Method, adaptive_rate: float
) -> None:
  """Sets the server's learning rate; see `create_config`."""
  optimizer = config.algorithm.get('server_optimizer', 'sgd')
  if optimizers.OPTIMIZERS[optimizer].is_adaptive:
    config.server_learning_rate = adaptive_rate
  elif not method.steps_at_server:
    config.server_learning_rate = 1.0
  elif config_lib.CLIENT_RATE in config:
    # Its step is the one that a client of FedAvg takes with a single batch.
    config.server_learning_rate = config.client_learning_rate


def _ordered_blocks() -> list[block_lib.Block]:
  """Returns the blocks, with the one that others' rules may change last."""
  return sorted(
    block_lib.own_blocks().values(), key=lambda b: b.name == 'participation'
  )


def _add_block(
  config: ConfigDict, block: block_lib.Block, chosen: Mapping[str, str]
) -> None:
  """Adds a block that axes choose, and sets other fields by its rules."""
  others = {axis: chosen[axis] for axis in block.axes() if axis in chosen}
  if block.name not in chosen and not others:
    return
  # An axis for speeds only keeps the config's participation.
  preset = chosen.get(block.name) or config[block.name].name
  config[block.name] = block.defaults(preset, **others)
  values = config_lib.Values.of(config[block.name].to_dict())
  for rule in block.goes_with:
    is_chosen = rule.field.partition('.')[0] in chosen
    if rule.values and rule.holds(values) and not is_chosen:
      _set(config, rule.field, rule.values)


def parse_variant(variant: str) -> tuple[str, dict[str, str]]:
  """Splits a variant into its name and the value of each axis.

  Args:
    variant: The variant, <name>[,<axis>=<value> ...].

  Raises:
    ValueError: If an axis has no value, or is given twice.
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
    axis: The axis.
    variant: The variant; `create_config` refuses one with an unknown value.
    known: The values, the usual one first.
  """
  usual, *others = known
  value = parse_variant(variant)[1].get(axis)
  return value if value in others else usual


def _check_axes(variant: str, chosen: Mapping[str, str], own: Axes) -> None:
  known = {'server': optimizers.OPTIMIZERS}
  needed = {}
  for block in _ordered_blocks():
    known |= block.all_axes()
    # Every config has a participation, so that its axes need no other.
    if block.name != 'participation':
      needed |= dict.fromkeys(block.axes(), block.name)
  known |= own
  for axis, value in chosen.items():
    if axis not in known:
      raise errors.InputError(
        f'The axis of variant {variant!r} must be one of {", ".join(known)}, got '
        f'{axis!r}.{errors.suggest(axis, known)}'
      )
    if value not in known[axis]:
      raise errors.InputError(
        f'{axis} of variant {variant!r} must be one of {", ".join(known[axis])}, '
        f'got {value!r}.{errors.suggest(value, known[axis])}'
      )
    if axis in needed and needed[axis] not in chosen:
      raise errors.InputError(
        f'The variant {variant!r} must have {axis} and {needed[axis]} '
        f'together, got {axis} alone.'
      )


def _set(config: ConfigDict, field: str, values: Sequence[Any]) -> None:
  """Sets an existing field to the first of some values unless it has one."""
  *blocks, last = field.split('.')
  block = config
  for inner in blocks:
    block = block.get(inner, {})
  if last in block and block[last] not in values:
    block[last] = values[0]


def _leave_out_unsupported(
  config: ConfigDict, method: method_lib.Method, visiting_rounds: int | None
) -> None:
  """Restricts fields to the values that they can have for a method."""
  for field, (_, values) in registry.only_values(method).items():
    _set(config, field, values)
  for rate in (config_lib.CLIENT_RATE, config_lib.SERVER_RATE):
    if rate in config and rate not in method.learning_rates:
      del config[rate]
  if config.participation.name == 'visit_once' and visiting_rounds is not None:
    config.rounds = visiting_rounds
