# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fields that every config has beside its blocks, and the values of a block.

This is plain Python, without TensorFlow.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import types
from typing import Any

from fedfish_tff import fields

# The names of the fields of learning rates.
CLIENT_RATE, SERVER_RATE = 'client_learning_rate', 'server_learning_rate'
FINE_TUNING_RATES = 'evaluation.personalization_learning_rates'
# The fields that every config has beside its blocks. Those without a default are
# the config file's to set.
FIELDS: Mapping[str, fields.Field] = {
  'seed': fields.Field(0, fields.integer(0), 'The seed of everything random.'),
  'rounds': fields.Field(None, fields.integer(1), 'The number of rounds.'),
  'cohort_size': fields.Field(
    None, fields.integer(1), 'The number of clients per round.'
  ),
  'local_epochs': fields.Field(
    None, fields.integer(1), 'The number of epochs per client and round.'
  ),
  'batch_size': fields.Field(
    None, fields.integer(1), 'The number of examples per batch.'
  ),
  'max_examples_per_client': fields.Field(
    0,
    fields.integer(0),
    "The cap on a client's examples per round; 0 for none.",
  ),
  'evaluate_every': fields.Field(
    5,
    fields.integer(1),
    'The number of rounds from one evaluation to the next.',
  ),
  'checkpoint_every': fields.Field(
    10,
    fields.integer(1),
    'The number of rounds from one checkpoint to the next.',
  ),
  'stop_after_diverged_rounds': fields.Field(
    5,
    fields.integer(0),
    'The number of consecutive rounds without a finite update after which a run '
    'ends; 0 for never.',
  ),
}


class Values(types.SimpleNamespace):
  """The fields of a block as read-only attributes."""

  def __setattr__(self, name: str, value: Any) -> None:
    raise dataclasses.FrozenInstanceError(f'cannot assign to field {name!r}')

  @classmethod
  def of(cls, block: Mapping[str, Any]) -> Values:
    """Returns the fields of a block; nested blocks become `Values`, too."""
    return cls(
      **{
        name: cls.of(value) if isinstance(value, Mapping) else value
        for name, value in block.items()
      }
    )
