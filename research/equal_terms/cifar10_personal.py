# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Personal models, on small pictures among clients of two classes.

  for piece in layers heads bodies models steps clocks; do
    python -m launch.sweep --sweep_dir=runs/equal_terms/cifar10_personal_$piece \
      --config=research/equal_terms/cifar10_personal.py:personal_$piece \
      --data_dir=path/to/folder
  done

path/to/folder holds cifar10.npz (tasks/images/cifar_shards.py). README.md beside
it has the design.
"""

from launch.configs import base
from launch.configs import sweeps
from research.equal_terms import budget

# Methods with a field of their own try every second one.
RATES = {
  'client_learning_rate': (0.01, 0.02, 0.04, 0.08, 0.16, 0.32),
}


def get_config(variant: str = 'fed_avg') -> base.ConfigDict:
  """Returns the config of a variant of the method."""
  return budget.create_config(
    variant,
    task={
      'name': 'cifar10',
      'model': 'compact_cnn',
      'num_clients': 40,
      'num_held_out': 20,
      'classes_per_client': 2,
      'max_images': 3000,
    },
    rounds=16,
    local_epochs=4,  # FedRep's body has 1 or 2 of them.
    batch_size=10,
    client_learning_rate=0.05,
    evaluate_every=8,
  )


sweep = sweeps.choice(
  get_config,
  lambda get_config: budget.pieces(get_config, RATES, **budget.OWN_MODELS),
)
