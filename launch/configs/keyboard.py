# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Next words of a keyboard as Hard et al. (2018, arXiv:1811.03604) train them.

  python -m launch.train --config=launch/configs/keyboard.py:fed_avg \
    --workdir=runs/keyboard --data_dir=path/to/users

The fields are the paper's: a CIFG-LSTM, about 400 sentences a client, Nesterov
momentum of 0.9 with rate 1 at the server, 3,000 rounds; its 600 M sentences make
the largest of its 100 to 500 clients a round. The clients' rate and batch size
are not published, and ours. path/to/users is a folder of launch.group_dataset, or
that of stackoverflow.sqlite; without it texts are made up: docs/keyboard.md.

Variants: see launch/configs/base.py. And the axes

  training  central: the texts of all clients in one place, a round taking as
            many sentences as a cohort has at most, by plain SGD; the paper's
            "server CIFG"
  size      compact: 2,000 words, a model of 0.2 M weights, 100 rounds of 20
            clients; minutes. docs/keyboard.md has what to expect
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
  'server_learning_rate': 1.0,
  'evaluate_every': 20,
  'checkpoint_every': 50,
}


def get_config(variant: str = 'fed_avg') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  config = base.create_config(
    variant,
    server_optimizer='nesterov',
    axes={
      'size': {'compact': _COMPACT},
      'training': {
        'central': {'task.central': True, 'client_learning_rate': 1.0}
      },
    },
    task={
      'name': 'keyboard',
      # Special tokens included: with embedding and units 1,412,250 weights.
      'vocabulary_size': 10_000,
      # The most frequent words of the first so many training clients.
      'vocabulary_clients': 1000,
      'embedding': 96,
      'units': 670,
      'projection': True,
      'sentence_length': 32,
      'central': False,
    },
    rounds=3000,
    cohort_size=500,
    local_epochs=1,
    batch_size=16,
    max_examples_per_client=400,
    client_learning_rate=0.3,
    server_learning_rate=1.0,
    evaluate_every=100,
    checkpoint_every=100,
    evaluation={'personalization_epochs': 0, 'barrier': False},
  )
  if config.task.central:
    # One client, with as many sentences as a cohort has, and plain steps: SGD.
    config.max_examples_per_client *= config.cohort_size
    config.cohort_size = 1
    config.algorithm.server_optimizer = 'sgd'
  return config
