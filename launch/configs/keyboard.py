# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Next-word prediction of a keyboard as in Hard et al. (arXiv:1811.03604).

  python -m launch.train --config=launch/configs/keyboard.py:fed_avg \
    --workdir=runs/keyboard --data_dir=path/to/users

The fields are the paper's (2018): a CIFG-LSTM, about 400 sentences per client,
Nesterov momentum of 0.9 with rate 1 at the server, 3,000 rounds, and 500
clients per round, the most of its 100 to 500, to match its 600 M sentences. The
clients' rate and batch size are not published, so they are our choice. Labels
tell the server's momentum, since FedAvg has none.
path/to/users is a folder of launch.group_dataset, or that of
stackoverflow.sqlite; without it, texts are synthetic: docs/keyboard.md.

launch/configs/base.py explains the variants. Further axes are

  training  central: the texts of all clients in one place, with the largest
            number of sentences of a cohort per round, by plain SGD; the paper's
            "server CIFG"
  size      compact: 2,000 words, a model of 0.2 M weights, 100 rounds of 20
            clients; minutes. docs/keyboard.md has expected results
"""

from launch.configs import base

_COMPACT = {
  'task.vocabulary_size': 2000,
  'task.embedding': 64,
  'task.units': 128,
  'rounds': 100,
  'cohort_size': 20,
  'max_examples_per_client': 100,
  'client_learning_rate': 0.5,
  'evaluate_every': 20,
  'checkpoint_every': 50,
}


def get_config(variant: str = 'fed_avg') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  central = base.parse_variant(variant)[1].get('training') == 'central'
  config = base.create_config(
    variant,
    # In one place, the texts are one client's: its steps are SGD's.
    server_optimizer='sgd' if central else 'nesterov',
    axes={
      'size': {'compact': _COMPACT},
      'training': {
        'central': {'task.central': True, 'client_learning_rate': 1.0}
      },
    },
    task={'name': 'keyboard'},
    rounds=3000,
    cohort_size=500,
    local_epochs=1,
    batch_size=16,
    max_examples_per_client=400,
    client_learning_rate=0.3,
    evaluate_every=100,
    checkpoint_every=100,
    evaluation={'personalization_epochs': 0, 'barrier': False},
  )
  if central:
    # One client with the sentences of a cohort.
    config.max_examples_per_client *= config.cohort_size
    config.cohort_size = 1
  return config
