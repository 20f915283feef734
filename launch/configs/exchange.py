# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Sweeps over partial exchange; see docs/partial_exchange.md."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from launch.configs import sweeps

# The memo's shares of sent tensors, and concentrations of clients' classes.
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
  """Returns runs over shares and directions, and full exchange to compare.

  Full exchange has no direction, so it runs once.

  Args:
    variant: A variant with an exchange.
    shares: The shares of sent tensors, less than 1.
    directions: The values of `exchange.direction`.
    betas: The values of `task.beta`.
    seeds: The seeds.
    fixed: The values of fields that are the same in all runs.
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
