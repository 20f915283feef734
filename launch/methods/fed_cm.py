# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedCM (Xu et al., 2021): clients mix their steps with the last direction."""

from fedfish_tff import algorithms
from fedfish_tff import fields
from launch.methods import building
from launch.methods import method
from launch.methods import optimizers


def _build(parts: building.Ingredients) -> building.BuiltMethod:
  return parts.build(
    algorithms.build_fed_cm,
    mixture=parts.algorithm.mixture,
    model_aggregator=parts.model_aggregator,
  )


METHOD = method.Method(
  name='fed_cm',
  title='FedCM',
  fields={
    **optimizers.SERVER_FIELDS,
    **optimizers.UNIFORM,
    'mixture': fields.Field(
      0.1,
      fields.share,
      "alpha, the share of a client's own gradient in its steps; the rest is "
      'the direction of the last round.',
      label=lambda value: f'mixture of {fields.exact(value)}',
    ),
  },
  supports={
    'fine_tuning',
    'learning_rates',
    'local_epochs',
    'model_aggregator',
    'repeated_visits',
    'statistics',
    'weight_average',
  },
  reasons={
    'barrier': "its clients train with the server's direction, so that their "
    'own models cannot be trained again outside of the round',
    'exchange': 'its server takes a direction from the mean of whole updates',
    'privacy': 'it also sums how far the steps of each client go, without noise',
  },
  shared_across=building.SHARED,
  build=_build,
)
