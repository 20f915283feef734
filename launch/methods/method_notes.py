# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Notes of a run on its method, from which readers label and compare runs.

This is plain Python, without TensorFlow.
"""

from collections.abc import Mapping
from typing import Any

from fedfish_tff import fields
from launch import json_config
from launch.methods import config as config_lib
from launch.methods import config_fields
from launch.methods import optimizers
from launch.methods import participation
from launch.methods import registry


def describe(config: config_lib.Config) -> dict[str, Any]:
  """Returns notes on a config's method for labels and comparisons.

  They are JSON values: its `title`, the published name with that of blocks, and
  the differences from the published form after commas: 'Partial FedAvg, clients
  weighted equally'; `deviations`, the words for these, by dotted name;
  `baseline`, its rank among the usual baselines, not positive for none, and
  lower if clients send a part; `one_model`, whether all clients end up with one
  model; `global_model`, whether the server's model is one to use as it is;
  `first_cohort`, the size of the first cohort if cohorts grow; and `settled`,
  the names of the fields whose values follow from the method and the blocks.
  """
  deviations = _deviations(config)
  return {
    'title': ', '.join([_name(config), *deviations.values()]),
    'deviations': deviations,
    'baseline': _rank_baseline(config),
    'one_model': config.has_one_model,
    'global_model': config.has_global_model,
    'first_cohort': participation.policy_of(config).first_cohort(config),
    'settled': _settled(config, json_config.flatten(config.values)),
  }


def _name(config: config_lib.Config) -> str:
  """Returns the name of a config's method and blocks, as 'Partial FedAdam'."""
  name = config.method.server_titles.get(
    getattr(config.algorithm, 'server_optimizer', None), config.method.title
  )
  for block in config.declared:
    name = block.label(config, name)
  return name


def _deviations(config: config_lib.Config) -> dict[str, str]:
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
    found[config_fields.SERVER_RATE] = f'server rate {fields.exact(rate)}'
  # First the blocks of all configs, and last those that change no round itself.
  for block in sorted(
    config.declared, key=lambda b: (not b.in_all_configs, b.in_loop)
  ):
    found |= block.deviations(config)
  if cap := config.max_examples_per_client:
    examples = 'example' if cap == 1 else 'examples'
    found['max_examples_per_client'] = f'at most {cap} {examples} per client'
  # What a block needs is part of its own published form.
  for field in _needed_by_blocks(config) & found.keys():
    del found[field]
  return found


def _needed_by_blocks(config: config_lib.Config) -> set[str]:
  """Returns the fields whose values a config's blocks restrict."""
  return {
    rule.field
    for block in config.declared
    for rule in block.goes_with
    if rule.values and rule.holds(config.blocks[block.name])
  }


def _settled(config: config_lib.Config, flat: Mapping[str, Any]) -> list[str]:
  """Returns the fields that lack of support, or a rule of a block, settles."""
  found = _needed_by_blocks(config) | {*registry.only_values(config.method)}
  if not config.method.chooses_fine_tuning_rate:
    found.add(config_fields.FINE_TUNING_RATES)
  # A closed form has as many rounds as it takes to visit all clients.
  if 'participation.name' in found:
    found.add('rounds')
  return sorted(found & {*flat})


def _rank_baseline(config: config_lib.Config) -> int:
  # Fed3R+FT is FedAvg by its algorithm, but more than a baseline.
  has_first_run = config.origin is not None and config.origin.config is not None
  rank = 0 if has_first_run else config.method.baseline
  server = getattr(config.algorithm, 'server_optimizer', 'sgd')
  # A method that sends a part is compared with one that sends all, and one with
  # other steps at the server with the plain one.
  return 4 * rank - 2 * ('exchange' in config.blocks) - (server != 'sgd')
