# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A config's block `weight_average`: a model that is an average over rounds.

Plain Python, without TensorFlow.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
from typing import Any

from fedfish_tff import algorithms
from fedfish_tff import errors
from launch.methods import building
from launch.methods import fields

FIELDS: Mapping[str, fields.Field] = {
  'decay': fields.Field(
    0.9,
    fields.between_0_and_1,
    "Of a round's weights in the average from each round to the next; it is over "
    'about 1 / (1 - decay) rounds, the initial model not among them.',
  ),
}

# What the axis `weight_average` of a variant changes.
PRESETS: Mapping[str, Mapping[str, Any]] = {'ema': {}}


def defaults(preset: str) -> dict[str, Any]:
  """Returns the block of a config, by the name of a preset."""
  return {**fields.defaults(FIELDS), **PRESETS[preset]}


def check(block: Mapping[str, Any]) -> None:
  """Checks a block.

  Args:
    block: The block.

  Raises:
    errors.InputError: If a field is missing, unknown or out of range.
  """
  fields.check_block('weight_average.', block, FIELDS)


def apply(
  config: Mapping[str, Any], built: building.BuiltMethod
) -> building.BuiltMethod:
  """Returns what a run trains, with the average that its config asks for.

  Args:
    config: A checked config.
    built: What its method has built.

  Raises:
    errors.InputError: If clients of the method keep something.
  """
  if 'weight_average' not in config:
    return built
  if isinstance(built.process, algorithms.ClientStateProcess):
    raise errors.InputError(
      'weight_average is in the config, but clients of '
      f'{config["algorithm"]["name"]} keep something from round to round, which '
      'belongs to the weights of the last one; no weight_average was expected.'
    )
  return dataclasses.replace(
    built,
    process=algorithms.compose_weight_averaging(
      built.process, decay=config['weight_average']['decay']
    ),
  )
