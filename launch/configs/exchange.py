# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Configs whose clients send a part of their weights.

The methods of `VARIANTS` (docs/partial_exchange.md explains them), which
launch/configs/ag_news.py has behind the name of a model:

  fed_avg                   all weights: what the others are compared with
  fed_avg_partial           the half of the tensors that have moved furthest
  fed_avg_partial_smallest  the half that have moved least
  fed_avg_layers            the half of the layers that have moved furthest
  fed_avg_threshold         every tensor that has moved 0.1 or further
  fed_avg_coordinates       half of all single weights, those that have changed
                            most
  <any of the latter>_client_keeps
                            the same, but what nobody sends stays different
                            from client to client
  fed_fish, fed_fish_partial, fed_fish_partial_smallest, fed_fish_layers,
  fed_fish_threshold, fed_fish_coordinates
                            FedFish likewise

All have plain steps at the server. Neither personalisation nor the barrier is
measured.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from launch.configs import base
from launch.configs import sweeps

# All fields: share and coordinates take the share, threshold the threshold.
_EXCHANGE: Mapping[str, Any] = {
  # Or threshold, coordinates.
  'selection': 'share',
  'share': 0.5,
  'threshold': 0.1,
  # Which drift is sent; or smallest.
  'direction': 'largest',
  # Whether to divide a tensor's drift by its number of weights.
  'normalize': False,
  # Or layer: all tensors of a layer are sent, or none.
  'group_by': 'tensor',
  # Or weight, magnitude_change.
  'coordinate_score': 'change',
  # Who keeps what nobody has sent; or client_keeps.
  'unsent': 'server_keeps',
}
_CHANGES: Mapping[str, Mapping[str, Any]] = {
  'partial': {},
  'partial_smallest': {'direction': 'smallest'},
  'layers': {'group_by': 'layer'},
  'threshold': {'selection': 'threshold'},
  'coordinates': {'selection': 'coordinates'},
}
_CLIENT_KEEPS = {'unsent': 'client_keeps'}

# The memo's: the shares of tensors that are sent, and how unlike clients are.
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
BETAS = (1.0, 0.5, 0.25)
DIRECTIONS = ('largest', 'smallest')

_Variant = Callable[[base.ConfigDict], None]


def create_config(variant: str, **fields: Any) -> base.ConfigDict:
  """Returns a config with all fields.

  Args:
    variant: One of `VARIANTS`, or of `base.VARIANTS` as that has it.
    **fields: The task's fields, see `base.create_config`.

  Raises:
    ValueError: If there is no such variant.
  """
  known = list(dict.fromkeys((*VARIANTS, *base.VARIANTS)))
  if variant not in known:
    raise ValueError(
      f'there is no variant {variant!r}; expected one of {", ".join(known)}'
    )
  # The variant of `base` that another one starts from, or is.
  start = variant
  if variant in VARIANTS:
    start = 'fed_fish' if variant.startswith('fed_fish') else 'fed_avg'
  config = base.create_config(
    start,
    server_optimizer='sgd',
    **{
      'server_learning_rate': 1.0,
      'evaluation': {'personalization_epochs': 0, 'barrier': False},
      **fields,
    },
  )
  if variant in VARIANTS:
    VARIANTS[variant](config)
  return config


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


def _nothing(unused_config: base.ConfigDict) -> None:
  """All is sent."""


def _exchange(**changes: Any) -> _Variant:
  def change(config: base.ConfigDict) -> None:
    config.exchange = base.ConfigDict({**_EXCHANGE, **changes})
    if 'diagnostics' in config.algorithm:
      # It compares with FedAvg's update, which is of all weights.
      config.algorithm.diagnostics = False

  return change


VARIANTS: Mapping[str, _Variant] = {
  'fed_avg': _nothing,
  **{f'fed_avg_{name}': _exchange(**c) for name, c in _CHANGES.items()},
  **{
    f'fed_avg_{name}_client_keeps': _exchange(**c, **_CLIENT_KEEPS)
    for name, c in _CHANGES.items()
  },
  'fed_fish': _nothing,
  **{f'fed_fish_{name}': _exchange(**c) for name, c in _CHANGES.items()},
}
