# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""The paper's toy: two clients that know sin(3x) on different intervals.

  python -m launch.train --config=launch/configs/toy_regression.py:fed_fish \
    --workdir=runs/toy_fed_fish --config.task.overlap=none

One round of many local epochs, after which the server takes the aggregate as
it is (plain SGD with rate 1), from the same initial weights for all methods.
Variants: see launch/configs/base.py; since the server's steps are plain here,
fed_avg is fed_avg,server=sgd and so on.

Expect, with seed 0 and --config.task.overlap=partial, a barrier (csb/mse) of
0.30 for fed_avg, 0.37 for fed_fish and 0.35 for per_example. Seeds differ more
than methods here: launch.studies.toy_figure measures many. With units=gaussian
(`fed_fish,units=gaussian`), FedFish's barrier is a seventh of FedAvg's.
"""

from collections.abc import Sequence

from launch.configs import base
from launch.configs import sweeps

# Gaussian units answer to few inputs each: what the paper's figure shows appears
# with them, and with tanh units, which answer to all, it does not.
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

# All of them have plain server steps here: fed_avg equals fed_avg,server=sgd.
_METHODS = ('fed_avg', 'fed_fish', 'per_example', 'damped')


def get_config(variant: str = 'fed_fish') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  config = base.create_config(
    variant,
    server_optimizer='sgd',
    axes={'units': _UNITS},
    task={
      'name': 'toy_regression',
      # full, partial or none.
      'overlap': 'partial',
      'num_examples': 100,
      'hidden_units': (32, 32),
      'units': 'tanh',
      'slope': None,
    },
    rounds=1,
    cohort_size=2,
    local_epochs=50,
    batch_size=10,
    client_learning_rate=0.05,
    server_learning_rate=1.0,
    evaluate_every=1,
    checkpoint_every=1,
  )
  if config.algorithm.server_optimizer != 'sgd':
    # Of steps that have a size of their own, whatever the update's.
    config.server_learning_rate = 0.01
  if config.algorithm.name == 'fed_sgd':
    # Here it is the rate of a gradient, not of a mean of models.
    config.server_learning_rate = config.client_learning_rate
  return config


def sweep(name: str) -> Sequence[sweeps.Run]:
  """Returns the runs of a sweep: one of `sweeps.ready_sweeps`, or `overlaps`.

  `overlaps` has every overlap of the two intervals. One round is too short for
  the comparison by local epochs to be one of compute.
  """
  overlaps = {'task.overlap': ('full', 'partial', 'none'), 'seed': sweeps.SEEDS}

  def make_sweeps(get_config: sweeps.GetConfig) -> dict[str, sweeps.MakeRuns]:
    ready = sweeps.ready_sweeps(
      get_config,
      methods=_METHODS,
      variants=_METHODS,
      local_epochs=(10, 50, 200),
    )
    del ready['fixed_compute'], ready['fixed_compute_tuning']
    return {**ready, 'overlaps': lambda: sweeps.grid(_METHODS, overlaps)}

  return sweeps.select(name, get_config, make_sweeps)
