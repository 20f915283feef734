# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The block `evaluation`: what a run's evaluations measure; all configs have it."""

from launch.methods import block
from launch.methods import fields

BLOCK = block.Block(
  name='evaluation',
  help='scores of held-out clients and of the cohort',
  fields={
    'personalization_epochs': fields.Field(
      1,
      fields.integer(0),
      "Epochs on half of a held-out client's data, with scores on the other "
      'half; 0 to leave out personalisation.',
    ),
    'personalization_learning_rates': fields.Field(
      (),
      fields.numbers,
      'The rates of these epochs, of which validation clients choose the best; '
      'empty for client_learning_rate.',
      goes_with={'personalization_epochs': range(1, 2**31)},
    ),
    'barrier': fields.Field(
      True,
      fields.boolean,
      "Whether to measure the client-server barrier on the round's cohort.",
    ),
  },
  only={
    'barrier': ('barrier', (False,)),
    'personalization_epochs': ('learning_rates', (0,)),
  },
  in_loop=True,
)
