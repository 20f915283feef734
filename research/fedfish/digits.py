# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""FedFish's gain by heterogeneity and local epochs, here on digits.

  python -m launch.sweep --config=research/fedfish/digits.py:surface_tuning \
    --sweep_dir=runs/surface_tuning
  python -m launch.sweep --config=research/fedfish/digits.py:surface \
    --tuned_by=runs/surface_tuning --sweep_dir=runs/surface

research.fedfish.gain_surface draws them. research/fedfish/images.py has the same
sweeps of EMNIST and CIFAR-100.
"""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from launch.configs import digits
from launch.configs import sweeps

# FedAvg and FedFish with diagnostics.
_VARIANTS = ('fed_avg', 'diagnosed')

get_config = digits.get_config


def surfaces(
  alphas: Sequence[float | None],
  *,
  variants: Sequence[str] = _VARIANTS,
  fixed: Mapping[str, Any] | None = None,
) -> dict[str, sweeps.MakeRuns]:
  """Returns the sweeps `surface` and `surface_tuning` of a task of images.

  `surface` has FedFish's gain over FedAvg against heterogeneity and local
  epochs, with ten seeds, and `surface_tuning` the client rates for it, with
  two others. Both have 30 rounds and plain steps of rate 1 at the server.
  research.fedfish.gain_surface draws them.

  Args:
    alphas: The values of task.alpha; None for the published clients.
    variants: FedAvg, and FedFish with diagnostics, at least.
    fixed: The values of fields that are the same in all runs.
  """

  def runs(fields: Mapping[str, Sequence[Any]]) -> tuple[sweeps.Run, ...]:
    return sweeps.grid(
      variants,
      {'task.alpha': alphas, 'local_epochs': (1, 4, 16), **fields},
      fixed={
        'rounds': 30,
        'evaluate_every': 5,
        'checkpoint_every': 30,
        'evaluation.barrier': False,
        'evaluation.personalization_epochs': 0,
        **(fixed or {}),
      },
    )

  tuning = {
    'client_learning_rate': (0.02, 0.05, 0.1, 0.2, 0.4),
    'seed': (100, 101),
  }
  return {
    'surface': lambda: runs({'seed': tuple(range(10))}),
    'surface_tuning': lambda: runs(tuning),
  }


sweep = sweeps.choice(
  get_config,
  lambda _: surfaces(
    (0.05, 0.1, 0.3, 1.0, 100.0), variants=(*_VARIANTS, 'damped')
  ),
)
