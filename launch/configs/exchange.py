# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Sweeps over what clients send; docs/partial_exchange.md explains it."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from launch.configs import sweeps

# The memo's: the shares of tensors that are sent, and how unlike clients are.
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
BETAS = (1.0, 0.5, 0.25)
DIRECTIONS = ('largest', 'smallest')


def share_sweep(
  variant: str,
  *,
  shares: Sequence[float] = SHARES,
  directions: Sequence[str] = DIRECTIONS,
  betas: Sequence[float] = BETAS,
  seeds: Sequence[int] = sweeps.SEEDS,
  fixed: Mapping[str, Any] | None = None,
) -> tuple[sweeps.Run, ...]:
  """Returns runs over shares and directions, with all sent for comparison.

  Where all is sent, there is no direction: that runs once.

  Args:
    variant: One with an exchange.
    shares: Less than 1.
    directions: Which drift is sent.
    betas: Values of `task.beta`.
    seeds: Seeds.
    fixed: Values of fields that are the same in all runs.
  """
  runs = []
  for beta in betas:
    for direction, some in (
      *((direction, shares) for direction in directions),
      (directions[0], (1.0,)),
    ):
      settings = {'task.beta': beta, 'exchange.direction': direction}
      runs += sweeps.grid(
        [variant],
        {'exchange.share': some, 'seed': seeds},
        fixed={**(fixed or {}), **settings},
      )
  return tuple(runs)
