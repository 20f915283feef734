# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which models of a run --at of launch.evaluate means, without TensorFlow."""

from collections.abc import Sequence

from fedfish_tff import errors
from launch.methods import config as config_lib
from launch.methods import early_stopping

HALF = 'half'
LAST = 'last'
BEST = 'best'
ROUNDS = (HALF, LAST, BEST)


def parse_rounds(values: Sequence[str]) -> tuple[str, ...]:
  """Returns which rounds, of `ROUNDS`, in their order.

  Args:
    values: Some of `ROUNDS`.

  Raises:
    errors.InputError: If one is unknown, or there is none.
  """
  unknown = [value for value in values if value not in ROUNDS]
  if unknown or not values:
    raise errors.InputError(
      f'--at={",".join(values)} is unknown; some of half,last,best was expected.'
    )
  return tuple(name for name in ROUNDS if name in values)


def of_the_model(config: config_lib.Config) -> str:
  """Returns which one is a run's model, the one that summary.json is about."""
  return BEST if early_stopping.restores_best(config) else LAST


def usual_of_transfer(config: config_lib.Config) -> tuple[str, ...]:
  """Returns which ones are scored on other tasks if nobody says it.

  Args:
    config: The config; where it has early_stopping, the number of rounds and
      so its half are not known.
  """
  half = () if 'early_stopping' in config.blocks else (HALF,)
  return *half, of_the_model(config)
