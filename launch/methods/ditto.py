# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Ditto (Li et al., 2021): FedAvg with a personal model for each client."""

from fedfish_tff import algorithms
from fedfish_tff import fields
from launch.methods import building
from launch.methods import fed_avg
from launch.methods import local_layers
from launch.methods import method
from launch.methods import optimizers


def _build(parts: building.Ingredients) -> building.BuiltMethod:
  return parts.build(
    algorithms.build_ditto,
    personal_strength=parts.algorithm.personal_strength,
    local_epochs=parts.config.local_epochs,
    model_aggregator=parts.model_aggregator,
  )


METHOD = method.Method(
  name='ditto',
  title='Ditto',
  fields={
    **optimizers.FIELDS,
    **optimizers.UNIFORM,
    'personal_strength': fields.Field(
      1.0,
      fields.number(positive=False),
      "How strongly a client's own model is pulled to the global one; the "
      "paper's code has 1, or the best of 0.1, 1 and 2.",
    ),
  },
  supports=fed_avg.METHOD.supports
  - {'barrier', 'client_keeps', 'exchange', 'statistics', 'weight_average'},
  reasons={'barrier': local_layers.REASONS['barrier']},
  # Costs depend on the epochs.
  shared_across=building.SHARED - {'local_epochs'},
  keeps_models=True,
  build=_build,
)
