# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the configs share: all fields, and the variants.

A variant is a method, or a variant of one, and axes that change what it is
combined with, such as

  fed_fish                          the method with the config's values
  per_example,server=sgd            FedFish's variant, plain steps at the server
  fed_avg,exchange=partial          clients send the half that has moved furthest
  fed_avg,fine_tuning=ft_lp,start=fed3r
                                    the classifier alone, from Fed3R's

`python -m launch.train --methods` lists methods, their variants and fields. The
axes, with which a value of the config is overruled:

  server      the server's optimizer; sgd has rate 1, which takes the aggregate
              as it is: FedAvg as McMahan et al. have it, FedFish as Algorithms
              1 and 2 are written
  exchange    what clients send: partial, partial_smallest, layers, threshold or
              coordinates, see docs/partial_exchange.md
  unsent      client_keeps: what nobody sends stays different from client to
              client, who start from their own; the server takes plain steps,
              and there is no barrier
  fine_tuning what is trained of a linear classifier on features: ft all of it,
              ft_lp the classifier, ft_feat what is before it
  adapters    lora: matrices are frozen, and products of two thin ones are trained
              and sent, of attention by default (adapters.targets), beside the
              classifier
  start       the closed-form method that a fine-tuning starts from, such as
              fed3r; its visits come before the config's rounds
  privacy     updates that are clipped and noised, with independent noise
              (gaussian, adaptive) or along a tree (tree, tree_adaptive); all
              clients count alike, see docs/privacy.md
  aggregation another rule than the mean: median, trimmed_mean, krum, multi_krum
              (all clients count alike, and the server sees each update), clipped
              or adaptive, see docs/aggregation.md
  compression updates in a few bits a number: quantized, nearest
  client_schedule, server_schedule  how a learning rate goes on: cosine, step or
              warmup; metrics.csv then has its factor in each round
  early_stopping  stop ends a run whose validation clients gain nothing any more,
              keep_best trains for all rounds; its model is then the best one
  weight_average  ema: the model is a moving average of the weights of all rounds;
              training and the barrier are of the weights themselves
  participation  who takes part: fastest, flanp, srpfl, and uniform or others
              with dropouts; clients then have speeds, see docs/participation.md
  speeds      how long clients take: exponential, dynamic, classes or trace;
              metrics.csv then has simulated/seconds
  size        and others that the config's docstring names
"""

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

from fedfish_tff import errors
from launch.methods import adapters
from launch.methods import aggregation
from launch.methods import building
from launch.methods import compression
from launch.methods import early_stopping
from launch.methods import exchange
from launch.methods import fine_tuning
from launch.methods import method as method_lib
from launch.methods import optimizers
from launch.methods import participation
from launch.methods import privacy
from launch.methods import registry
from launch.methods import schedules
from launch.methods import weight_average

import ml_collections

ConfigDict = ml_collections.ConfigDict

# By axis, the changes of each of its values, by the dotted names of fields.
Axes = Mapping[str, Mapping[str, Mapping[str, Any]]]

# The rule of the paper, theta <- theta - eta_g * mean. Its published eta_g, 1e-3,
# would leave the weights where they are; 1 takes the mean as it is.
_PLAIN_SERVER_LEARNING_RATE = 1.0
# Fed3R's fine-tuning, as published.
FINE_TUNING_LEARNING_RATE = 0.01

# What a preset alone makes, by the axis and block.
_BLOCKS: Mapping[str, Any] = {
  **dict.fromkeys(building.SCHEDULES.values(), schedules),
  'adapters': adapters,
  'early_stopping': early_stopping,
  'weight_average': weight_average,
  'privacy': privacy,
  'aggregation': aggregation,
  'compression': compression,
}

# Of the runs of docs/results.md: an axis' changes.
FEW_ROUNDS: Mapping[str, Any] = {
  'rounds': 32,
  'evaluate_every': 4,
  'checkpoint_every': 16,
  # A sum of the model's size and a column that nothing there needs.
  'algorithm.diagnostics': False,
}


def create_config(
  variant: str,
  *,
  server_optimizer: str = 'adam',
  axes: Axes | None = None,
  visiting_rounds: int | None = None,
  fine_tuning_learning_rate: float = FINE_TUNING_LEARNING_RATE,
  **values: Any,
) -> ConfigDict:
  """Returns a config with all fields.

  Args:
    variant: A method or a variant of one, and axes: see the module.
    server_optimizer: The task's. Adam for all methods alike: see the docstring
      of `build_fed_fish`.
    axes: The task's own axes.
    visiting_rounds: Of a task with features, in how many rounds all training
      clients come once: those of a closed form and of the start of a
      fine-tuning, whose own `rounds` come after them.
    fine_tuning_learning_rate: The client's rate in a fine-tuning with a start.
    **values: The task's values of fields.

  Returns:
    The config.

  Raises:
    ValueError: If there is no such variant, or it cannot be had here.
  """
  name, chosen = parse_variant(variant)
  method, method_variant = registry.find_variant(name)
  own = axes or {}
  known = {
    'server': {name: {} for name in optimizers.OPTIMIZERS},
    'exchange': exchange.PRESETS,
    'unsent': {exchange.CLIENT_KEEPS: {}},
    'fine_tuning': {s: {} for s in fine_tuning.STRATEGIES},
    'start': {m: {} for m in registry.names('fine_tuning_start')},
    **{axis: {p: {} for p in kind.PRESETS} for axis, kind in _BLOCKS.items()},
    'participation': {name: {} for name in participation.POLICIES},
    'speeds': {kind: {} for kind in participation.SPEEDS},
    **own,
  }
  _check_axes(variant, chosen, known)
  config = ConfigDict(
    {
      'seed': 0,
      'algorithm': method.defaults(method_variant),
      # Rounds between two evaluations, and between two checkpoints.
      'evaluate_every': 5,
      'checkpoint_every': 10,
      # 0 for no cap.
      'max_examples_per_client': 0,
      'participation': {'name': 'uniform'},
      'evaluation': {
        # Epochs on half of a held-out client's data, scored on the other; 0 to
        # leave personalisation out.
        'personalization_epochs': 1,
        # The learning rate of these epochs; several to choose from by the scores
        # of validation clients, none for client_learning_rate.
        'personalization_learning_rates': (),
        # The client-server barrier on the round's cohort.
        'barrier': True,
      },
    }
  )
  config.update(values)
  if 'server_optimizer' in config.algorithm:
    config.algorithm.server_optimizer = server_optimizer
  for axis in own:
    for field, value in known[axis].get(chosen.get(axis), {}).items():
      _set(config, field, value)
  _leave_out_unsupported(config, method, visiting_rounds)
  for block, kind in _BLOCKS.items():
    if block in chosen:
      config[block] = kind.defaults(chosen[block])
  if 'privacy' in chosen:
    config.participation.name = privacy.usual_participation(chosen['privacy'])
    _count_alike(config)
  if 'aggregation' in chosen and aggregation.counts_alike(
    chosen['aggregation']
  ):
    _count_alike(config)
  if not chosen.keys().isdisjoint(('participation', 'speeds')):
    config.participation = participation.defaults(
      chosen.get('participation', config.participation.name),
      chosen.get('speeds', 'exponential'),
    )
  if 'server' in chosen:
    _set_server(config, chosen['server'])
  if 'exchange' in chosen:
    _set_exchange(config, chosen['exchange'], chosen.get('unsent'))
  if 'fine_tuning' in chosen:
    start = chosen.get('start')
    config.fine_tuning = fine_tuning.defaults(
      chosen['fine_tuning'],
      start and registry.find_method(start).defaults(),
    )
    if start:
      config.client_learning_rate = fine_tuning_learning_rate
      # The visits count.
      config.rounds += visiting_rounds or 0
  return config


def parse_variant(variant: str) -> tuple[str, dict[str, str]]:
  """Splits a variant into its name and the value of each axis.

  Args:
    variant: <name>[,<axis>=<value> ...].

  Raises:
    ValueError: If an axis has no value, or stands there twice.
  """
  name, *parts = variant.split(',')
  chosen = {}
  for part in parts:
    axis, equals, value = part.partition('=')
    if not equals or axis in chosen:
      raise errors.InputError(
        f'the variant {variant!r} has {part!r} in it; axes, each once, as '
        '<axis>=<value>, were expected'
      )
    chosen[axis] = value
  return name, chosen


def _check_axes(
  variant: str, chosen: Mapping[str, str], known: Mapping[str, Any]
) -> None:
  for axis, value in chosen.items():
    if axis not in known:
      raise errors.InputError(
        f'the variant {variant!r} has an axis {axis}; one of '
        f'{", ".join(known)} was expected'
      )
    if value not in known[axis]:
      raise errors.InputError(
        f'the variant {variant!r} has {axis}={value}; one of '
        f'{", ".join(known[axis])} was expected'
      )
  for axis, needed in (('unsent', 'exchange'), ('start', 'fine_tuning')):
    if axis in chosen and needed not in chosen:
      raise errors.InputError(
        f'the variant {variant!r} has {axis} without {needed}; both were '
        'expected'
      )


def _set(config: ConfigDict, field: str, value: Any) -> None:
  """Sets a field of the task's axis, unless the method does not have it."""
  *blocks, last = field.split('.')
  block = config
  for inner in blocks:
    block = block[inner]
  if last in block:
    block[last] = value


def _leave_out_unsupported(
  config: ConfigDict, method: method_lib.Method, visiting_rounds: int | None
) -> None:
  """Gives fields the only values that they can have for a method."""
  supports = method.supports
  if 'barrier' not in supports:
    config.evaluation.barrier = False
  if 'local_epochs' not in supports:
    config.local_epochs = 1
  for rate in (building.CLIENT_RATE, building.SERVER_RATE):
    if rate not in method.learning_rates:
      del config[rate]
  if 'learning_rates' not in supports:
    config.evaluation.personalization_epochs = 0
  if 'repeated_visits' not in supports:
    config.participation.name = 'visit_once'
    if visiting_rounds is not None:
      config.rounds = visiting_rounds


def create_runs(
  variants: Mapping[str, str],
  get_config: Callable[[str], ConfigDict],
  *,
  check_ridge: str = '',
) -> ConfigDict:
  """Returns a config of several runs, which launch.train trains one by one.

  Args:
    variants: By the name of its folder, the variant of a run.
    get_config: The config of a variant.
    check_ridge: The run that is compared with scikit-learn; '' for none.
  """
  return ConfigDict(
    {
      'runs': {name: get_config(variant) for name, variant in variants.items()},
      'check_ridge': check_ridge,
    }
  )


def _set_server(config: ConfigDict, optimizer: str) -> None:
  config.algorithm.server_optimizer = optimizer
  if optimizer == 'sgd':
    config.server_learning_rate = _PLAIN_SERVER_LEARNING_RATE


def _count_alike(config: ConfigDict) -> None:
  if 'client_weighting' in config.algorithm:
    config.algorithm.client_weighting = 'uniform'


def _set_exchange(config: ConfigDict, preset: str, unsent: str | None) -> None:
  config.exchange = exchange.defaults(preset)
  if 'diagnostics' in config.algorithm:
    # It compares with FedAvg's update, which is of all weights.
    config.algorithm.diagnostics = False
  if unsent:
    config.exchange.unsent = unsent
    _set_server(config, 'sgd')
    config.evaluation.barrier = False
