# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Methods that train one model, on small pictures among clients of few classes.

  for piece in fed_fish other_fishers corrections control_variates averages; do
    python -m launch.sweep --sweep_dir=runs/equal_terms/cifar10_$piece \
      --config=research/equal_terms/cifar10.py:$piece --data_dir=path/to/folder
  done

path/to/folder holds cifar10.npz (tasks/images/cifar10_dirichlet.py). README.md
beside it has the design.
"""

from launch.configs import base
from launch.configs import sweeps
from research.equal_terms import budget
from research.equal_terms import emnist

# The network is EMNIST's, too.
RATES = emnist.RATES


def get_config(variant: str = 'fed_avg') -> base.ConfigDict:
  """Returns the config of a variant of the method."""
  return budget.create_config(
    variant,
    task={
      'name': 'cifar10_dirichlet',
      'model': 'compact_cnn',
      'num_clients': 40,
      'alpha': 0.1,
    },
    rounds=32,
    local_epochs=1,
    batch_size=10,
    max_examples_per_client=100,
    client_learning_rate=0.05,
    evaluate_every=8,
  )


sweep = sweeps.choice(
  get_config,
  lambda get_config: budget.pieces(get_config, RATES, **budget.ONE_MODEL),
)
