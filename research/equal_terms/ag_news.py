# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Methods that train one model, on news among clients of few classes.

  for piece in fed_fish other_fishers corrections control_variates averages \
      clocks; do
    python -m launch.sweep --sweep_dir=runs/equal_terms/ag_news_$piece \
      --config=research/equal_terms/ag_news.py:$piece --data_dir=path/to/folder
  done

path/to/folder holds test.csv, and train.csv if it is there, of AG News
(tasks/text/ag_news.py). README.md beside it has the design.
"""

from launch.configs import base
from launch.configs import sweeps
from research.equal_terms import budget

# Methods with a field of their own try every second one.
RATES = {
  'client_learning_rate': (0.03, 0.05, 0.1, 0.2, 0.3, 0.5)
  + (0.7, 1.0, 1.5, 2.0, 3.0, 5.0),
  'server_learning_rate': (0.3, 0.5, 1.0, 2.0, 3.0, 5.0)
  + (7.0, 10.0, 15.0, 20.0, 30.0, 50.0),
}


def get_config(variant: str = 'fed_avg') -> base.ConfigDict:
  """Returns the config of a variant of the method."""
  return budget.create_config(
    variant,
    task={
      'name': 'ag_news',
      'model': 'cnn',
      'num_clients': 40,
      'beta': 0.25,
      'client_fraction': 0.02,
      'max_examples': 6000,
      'sequence_length': 64,
      'vocabulary_size': 2048,
    },
    rounds=32,
    local_epochs=1,
    batch_size=10,
    max_examples_per_client=100,
    client_learning_rate=0.3,
    evaluate_every=8,
  )


sweep = sweeps.choice(
  get_config,
  lambda get_config: budget.pieces(get_config, RATES, **budget.ONE_MODEL),
)
