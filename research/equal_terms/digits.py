# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""All methods on handwritten digits, with data that scikit-learn embeds.

  for piece in averages corrections control_variates clocks \
      personal_layers personal_heads personal_bodies personal_models \
      personal_steps personal_clocks; do
    python -m launch.sweep --sweep_dir=runs/equal_terms/digits_$piece \
      --config=research/equal_terms/digits.py:$piece
  done

README.md beside it has the design. The first four pieces are judged by one
model of all clients, the others by clients' models after fine-tuning.
"""

from launch.configs import base
from launch.configs import sweeps
from research.equal_terms import budget

RATES = {
  'client_learning_rate': (0.03, 0.06, 0.12, 0.25, 0.5, 1.0),
  'server_learning_rate': (0.1, 0.2, 0.5, 1.0, 2.0, 5.0),
}


def get_config(variant: str = 'fed_avg') -> base.ConfigDict:
  """Returns the config of a variant of the method."""
  return budget.create_config(
    variant,
    task={
      'name': 'digits_shards',
      'num_clients': 40,
      'num_held_out': 40,
      'classes_per_client': 2,
    },
    rounds=20,
    local_epochs=5,
    batch_size=5,
    client_learning_rate=0.1,
    evaluate_every=4,
  )


sweep = sweeps.choice(
  get_config,
  lambda get_config: budget.pieces(
    get_config,
    RATES,
    averages=budget.AVERAGES,
    corrections=budget.CORRECTIONS,
    control_variates=budget.CONTROL_VARIATES,
    clocks=budget.CLOCKS,
    **budget.OWN_MODELS,
  ),
)
