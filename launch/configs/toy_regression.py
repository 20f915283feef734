# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""The FedFish paper's toy: two clients see sin(3x) on different intervals.

  python -m launch.train --config=launch/configs/toy_regression.py:fed_fish \
    --workdir=runs/toy_fed_fish --config.task.overlap=none

The run is one round of many local epochs from the same initial weights for all
methods; the server then takes the aggregate as it is.
launch/configs/base.py explains the variants.

Expect, with seed 0 and --config.task.overlap=partial, a barrier (csb/mse) of
0.30 for fed_avg, 0.37 for fed_fish and 0.35 for per_example. Seeds differ more
than methods here; launch.toy_figure measures many. With units=gaussian
(`fed_fish,units=gaussian`), FedFish's barrier is a seventh of FedAvg's.
"""

from launch.configs import base
from launch.configs import sweeps

# The effect of the paper's figure appears with Gaussian units, each of which
# responds to few inputs, but not with tanh units, which respond to all.
_UNITS = {
  'tanh': {},
  'gaussian': {
    'task.units': 'gaussian',
    'task.hidden_units': (128,),
    'task.slope': 8.0,
    'client_learning_rate': 0.03,
    'local_epochs': 100,
  },
}

_METHODS = ('fed_avg', 'fed_fish', 'per_example', 'damped')


def get_config(variant: str = 'fed_fish') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  return base.create_config(
    variant,
    axes={'units': _UNITS},
    task={'name': 'toy_regression'},
    rounds=1,
    cohort_size=2,
    local_epochs=50,
    batch_size=10,
    client_learning_rate=0.05,
    evaluate_every=1,
    checkpoint_every=1,
  )


def _create_sweeps(get_config: sweeps.GetConfig) -> dict[str, sweeps.MakeRuns]:
  """Returns `sweeps.ready_sweeps`, and `overlaps`, with every overlap.

  Comparisons with fixed compute are left out, because there is only one round.
  """
  overlaps = {'task.overlap': ('full', 'partial', 'none'), 'seed': sweeps.SEEDS}
  ready = sweeps.ready_sweeps(
    get_config,
    methods=_METHODS,
    variants=_METHODS,
    local_epochs=(10, 50, 200),
  )
  del ready['fixed_compute'], ready['fixed_compute_tuning']
  return {**ready, 'overlaps': lambda: sweeps.grid(_METHODS, overlaps)}


sweep = sweeps.choice(get_config, _create_sweeps)
