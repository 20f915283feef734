# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The block `weight_average`: a moving average of weights over rounds."""

from __future__ import annotations

from fedfish_tff import algorithms
from fedfish_tff import errors
from fedfish_tff import fields
from launch.methods import block
from launch.methods import building
from launch.methods import config as config_lib


def _check(config: config_lib.Config) -> None:
  if config.keeps_models:
    raise errors.InputError(
      'weight_average must not be in the config: clients keep weights of their '
      'own, which belong to those of the last round.'
    )


def _build(
  parts: building.Ingredients, process: algorithms.FederatedProcess
) -> algorithms.FederatedProcess:
  return algorithms.compose_weight_averaging(
    process, decay=parts.config.blocks['weight_average'].decay
  )


BLOCK = block.Block(
  name='weight_average',
  help='a model that is a moving average of the weights of all rounds, of '
  'methods whose clients keep nothing; training and the barrier are of the '
  'weights themselves',
  fields={
    'decay': fields.Field(
      0.9,
      fields.between_0_and_1,
      "Of a round's weights in the average from each round to the next; it is "
      'over about 1 / (1 - decay) rounds, the initial model not among them.',
    )
  },
  presets={'ema': {}},
  supports='weight_average',
  check=_check,
  deviations=lambda config: {'weight_average.decay': 'averaged weights'},
  built_from=block.of_own_fields,
  build={building.PROCESS: _build},
)
