# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""FedMA on Shakespeare's characters by an LSTM, with FedAvg and FedProx.

  python -m launch.train --config=launch/configs/fed_ma_shakespeare.py:fed_ma \
    --workdir=runs/fed_ma_shakespeare --data_dir=path/to/tff_cache

path/to/tff_cache holds shakespeare.sqlite, as TFF unpacks it;
--config.task.download=True downloads it if it is missing. Other variants are
fed_avg and fed_prox, and those of launch/configs/base.py.

As in Wang et al. (2020, arXiv:2002.06440), clients are 66 of the speakers with
10,000 characters, all in every round, with an LSTM of 256 units and their
gamma. As in their published code, clients use SGD with momentum 0.9 and rate
0.25, FedProx's strength, 10 rounds, and 5 local epochs, where the code's FedMA
has 10 in the first phase and its FedProx 1. The code takes the first speakers,
has a gamma of 1e-5, predicts the one character after a window of 80, in batches
of 50 windows, and decays weights by 1e-4. Here the seed draws the speakers, an
example is 80 characters, each of which is predicted, a batch is 10 examples,
and there is no weight decay. The paper's accuracies are 0.491, 0.466 and 0.458
for FedMA, FedAvg and FedProx; they are of other examples, so do not expect them
here.

For a laptop, size=compact has 10 speakers with 4,000 characters, 64 units, 10
local epochs and a higher rate, which suits examples with a loss for each
character. With this gamma there are no new units, so the server's LSTM is as
wide as the clients'.

  python -m launch.sweep --sweep_dir=runs/fed_ma_shakespeare_seeds \
    --config=launch/configs/fed_ma_shakespeare.py:seeds,size=compact \
    --data_dir=path/to/tff_cache

runs the three methods with three seeds each. The three of a seed take a core
seven and a half minutes. Expect, with seed 0 and a sample of a million
characters that does not tell speakers of different plays apart, accuracies on
the test clients after 3 rounds of 0.403 for FedMA, 0.399 for FedAvg and 0.384
for FedProx. FedMA trains three times per round, from separate initial weights.
"""

from launch.configs import base
from launch.configs import sweeps

METHODS = ('fed_ma', 'fed_avg', 'fed_prox')
_COMPACT = {
  'task.num_clients': 10,
  'task.num_validation_clients': 4,
  'task.min_characters': 4000,
  'task.lstm_size': 64,
  'algorithm.growth': 1,
  'cohort_size': 10,
  'rounds': 3,
  'local_epochs': 10,
  'client_learning_rate': 1.0,
}


def get_config(variant: str = 'fed_ma') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  return base.create_config(
    variant,
    axes={'size': {'compact': _COMPACT}},
    task={'name': 'shakespeare'},
    rounds=10,
    cohort_size=66,
    local_epochs=5,
    batch_size=10,
    client_learning_rate=0.25,
    evaluate_every=1,
    checkpoint_every=5,
    evaluation={'personalization_epochs': 0, 'barrier': False},
    fields={
      'algorithm.client_optimizer': 'sgdm',
      'algorithm.gamma': 1e-3,
      # The published code has a tenth, and weight decay, only for images.
      'algorithm.last_layer_rate_factor': 1.0,
      'algorithm.last_layer_weight_decay': 0.0,
      'algorithm.proximal_strength': 1e-3,
    },
  )


sweep = sweeps.choice(
  get_config,
  lambda _: {'seeds': lambda: sweeps.grid(METHODS, {'seed': sweeps.SEEDS})},
)
