# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Methods that train one model, on small pictures.

  for piece in fed_fish other_fishers corrections control_variates averages \
      clocks; do
    for name in $piece even_$piece; do
      python -m launch.sweep --sweep_dir=runs/equal_terms/cifar10_$name \
        --config=research/equal_terms/cifar10.py:$name --data_dir=path/to/folder
    done
  done

Clients have few classes (Dirichlet of 0.1), and in pieces named even_ most of
them (Dirichlet of 1). path/to/folder holds cifar10.npz
(tasks/images/cifar10_dirichlet.py). README.md beside it has the design.
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


def _pieces(get_config: sweeps.GetConfig) -> dict[str, sweeps.MakeRuns]:
  """Returns the sweeps by name."""
  even = budget.pieces(
    get_config, RATES, fixed={'task.alpha': 1.0}, **budget.ONE_MODEL
  )
  return {
    **budget.pieces(get_config, RATES, **budget.ONE_MODEL),
    **{f'even_{name}': make for name, make in even.items()},
  }


sweep = sweeps.choice(get_config, _pieces)
