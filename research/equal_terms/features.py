# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Methods that train a linear classifier of frozen features of CIFAR-10.

  for piece in closed_forms fisher corrections control_variates averages clocks; do
    python -m launch.sweep --sweep_dir=runs/equal_terms/features_$piece \
      --config=research/equal_terms/features.py:$piece --data_dir=path/to/folder
  done

path/to/folder holds cifar10.npz and SqueezeNet's weights, as for
launch/configs/fed3r_cifar.py. README.md beside it has the design.
"""

from launch.configs import base
from launch.configs import fed3r_cifar
from launch.configs import sweeps
from research.equal_terms import budget

# Methods with a field of their own try every second one.
RATES = {
  'client_learning_rate': (0.05, 0.1, 0.2, 0.4, 0.8, 1.5)
  + (3.0, 6.0, 12.0, 25.0, 50.0, 100.0),
  'server_learning_rate': (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
  + (30.0, 60.0, 120.0, 250.0, 500.0, 1000.0),
}


def get_config(variant: str = 'fed_avg') -> base.ConfigDict:
  """Returns the config of a variant of the method."""
  return budget.create_config(
    variant,
    task={'name': 'cifar10_features', 'alpha': 0.1},
    visiting_rounds=fed3r_cifar.VISITING_ROUNDS,
    rounds=20,
    local_epochs=5,
    batch_size=10,
    client_learning_rate=1.0,
    evaluate_every=4,
  )


sweep = sweeps.choice(
  get_config,
  lambda get_config: budget.pieces(
    get_config,
    RATES,
    closed_forms=(*budget.CLOSED_FORMS, budget.FED_AVG),
    fisher=budget.FISHERS,
    corrections=budget.CORRECTIONS,
    control_variates=budget.CONTROL_VARIATES,
    averages=budget.OTHER_AVERAGES,
    clocks=budget.CLOCKS,
  ),
)
