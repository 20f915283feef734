# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Methods that train one model, on handwritten characters by writer.

  for piece in fed_fish other_fishers corrections control_variates averages \
      clocks; do
    python -m launch.sweep --sweep_dir=runs/equal_terms/emnist_$piece \
      --config=research/equal_terms/emnist.py:$piece --data_dir=path/to/tff_cache
  done

path/to/tff_cache holds emnist_all.sqlite (launch/configs/fedfish_images.py).
README.md beside it has the design.
"""

from launch.configs import base
from launch.configs import sweeps
from research.equal_terms import budget

# Methods with a field of their own try every second one.
RATES = {
  'client_learning_rate': (0.01, 0.02, 0.03, 0.05, 0.07, 0.1)
  + (0.15, 0.2, 0.3, 0.5, 0.7, 1.0),
  'server_learning_rate': (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
  + (0.7, 1.0, 1.5, 2.0, 3.0, 5.0),
}


def get_config(variant: str = 'fed_avg') -> base.ConfigDict:
  """Returns the config of a variant of the method."""
  return budget.create_config(
    variant,
    task={'name': 'emnist', 'model': 'compact_cnn'},
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
