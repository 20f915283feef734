# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedBuff (Nguyen et al., 2022): a server step at every K answers."""

from __future__ import annotations

from collections.abc import Mapping

from fedfish_tff import algorithms
from fedfish_tff import fields
from launch.methods import building
from launch.methods import config_fields
from launch.methods import method
from launch.methods import optimizers
from launch.methods import participation

# The fields of methods whose clients may start from earlier models.
STALENESS_FIELDS: Mapping[str, fields.Field] = {
  **optimizers.UNIFORM,
  'staleness_weight': fields.Field(
    'polynomial',
    fields.one_of('constant', 'polynomial', 'hinge'),
    'How much an update from a model of d steps ago counts: 1, (d + 1)^-a, or '
    '1 / (a (d - b) + 1) for d above b.',
  ),
  'staleness_exponent': fields.Field(
    0.5,
    fields.number(positive=False),
    'Of polynomial: a.',
    goes_with={'staleness_weight': ('polynomial',)},
  ),
  'staleness_slope': fields.Field(
    10.0,
    fields.number(positive=False),
    'Of hinge: a.',
    goes_with={'staleness_weight': ('hinge',)},
  ),
  'staleness_delay': fields.Field(
    4.0,
    fields.number(positive=False),
    'Of hinge: b.',
    goes_with={'staleness_weight': ('hinge',)},
  ),
}


def build_staleness_weight(
  algorithm: config_fields.Values,
) -> algorithms.StalenessWeight:
  """Builds the weight of an update, given the block `algorithm`."""
  if algorithm.staleness_weight == 'constant':
    return algorithms.constant_staleness_weight
  if algorithm.staleness_weight == 'hinge':
    return algorithms.hinge_staleness_weight(
      algorithm.staleness_slope, algorithm.staleness_delay
    )
  return algorithms.polynomial_staleness_weight(algorithm.staleness_exponent)


def _build(parts: building.Ingredients) -> building.BuiltMethod:
  return parts.build(
    algorithms.build_fed_buff,
    max_staleness=participation.max_staleness(parts.config),
    staleness_weight=build_staleness_weight(parts.algorithm),
    model_aggregator=parts.model_aggregator,
  )


METHOD = method.Method(
  name='fed_buff',
  title='FedBuff',
  fields={**optimizers.FIELDS, **STALENESS_FIELDS},
  supports={
    'learning_rates',
    'local_epochs',
    'model_aggregator',
    'repeated_visits',
  },
  reasons={
    'barrier': 'its clients start from different models',
    'privacy': 'the same clients come more often, by how fast they are',
    **dict.fromkeys(
      (
        'client_keeps',
        'exchange',
        'fine_tuning',
        'fine_tuning_start',
        'weight_average',
      ),
      'its server keeps whole models for clients at work',
    ),
  },
  shared_across=building.SHARED,
  is_asynchronous=True,
  build=_build,
)
