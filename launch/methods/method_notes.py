# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Notes of a run on its method, from which readers label and compare runs.

This is plain Python, without TensorFlow.
"""

from collections.abc import Mapping
from typing import Any

from launch import json_config
from launch.methods import config as config_lib
from launch.methods import fine_tuning
from launch.methods import participation
from launch.methods import registry


def describe(config: config_lib.Config) -> dict[str, Any]:
  """Returns notes on a config's method for labels and comparisons.

  Args:
    config: The config.

  Returns:
    JSON values: its `title`, and `deviations`, the words at its end for what
    differs from the published form, by dotted name; `baseline`, its rank among
    the usual baselines, not positive for none, and lower if clients send a
    part; `one_model`, whether all clients end up with one model; `first_cohort`,
    the size of the first cohort if cohorts grow; and `settled`, the names of the
    fields whose values follow from the method and the blocks.
  """
  return {
    'title': registry.label(config),
    'deviations': registry.deviations(config),
    'baseline': _rank_baseline(config),
    'one_model': config.has_one_model,
    'first_cohort': participation.policy_of(config).first_cohort(config),
    'settled': _settled(config, json_config.flatten(config.values)),
  }


def _settled(config: config_lib.Config, flat: Mapping[str, Any]) -> list[str]:
  """Returns the fields that lack of support, or a rule of a block, settles."""
  found = set(registry.only_values(config.method))
  for block in config.declared:
    own = config.blocks[block.name]
    rules = [rule for rule in block.goes_with if rule.holds(own)]
    found |= {rule.field for rule in rules if rule.values}
  if not config.method.chooses_fine_tuning_rate:
    found.add(config_lib.FINE_TUNING_RATES)
  # A closed form has as many rounds as it takes to visit all clients.
  if 'participation.name' in found:
    found.add('rounds')
  return sorted(found & {*flat})


def _rank_baseline(config: config_lib.Config) -> int:
  # Fed3R+FT is FedAvg by its algorithm, but more than a baseline.
  rank = 0 if fine_tuning.has_start(config) else config.method.baseline
  server = getattr(config.algorithm, 'server_optimizer', 'sgd')
  # A method that sends a part is compared with one that sends all, and one with
  # other steps at the server with the plain one.
  return 4 * rank - 2 * ('exchange' in config.blocks) - (server != 'sgd')
