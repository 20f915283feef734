# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The models that --at of launch.evaluate names, without TensorFlow."""

from collections.abc import Sequence

from fedfish_tff import errors
from launch.methods import config as config_lib

HALF = 'half'
LAST = 'last'
BEST = 'best'
ROUNDS = (HALF, LAST, BEST)


def parse_rounds(values: Sequence[str]) -> tuple[str, ...]:
  """Returns the named rounds, at least one, in the order of `ROUNDS`."""
  unknown = [value for value in values if value not in ROUNDS]
  if unknown or not values:
    raise errors.InputError(
      f'--at must be one or more of half,last,best, got {",".join(values)}.'
    )
  return tuple(name for name in ROUNDS if name in values)


def of_the_model(config: config_lib.Config) -> str:
  """Returns the name of a run's model, which summary.json describes."""
  return BEST if config.restores_best else LAST


def usual_of_transfer(config: config_lib.Config) -> tuple[str, ...]:
  """Returns the names of the models that other tasks score by default.

  They leave out the half-way round if the run may stop early, since the number
  of rounds is then unknown.
  """
  keeps_half = config.evaluation.half_way_checkpoint
  half = (HALF,) if keeps_half and config.deciding is None else ()
  return *half, of_the_model(config)
