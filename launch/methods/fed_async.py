# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedAsync (Xie et al., 2019): each answer is mixed into the server's model."""

from fedfish_tff import algorithms
from fedfish_tff import fields
from launch.methods import building
from launch.methods import config_fields
from launch.methods import fed_buff
from launch.methods import method
from launch.methods import optimizers
from launch.methods import participation


def _build(parts: building.Ingredients) -> building.BuiltMethod:
  return building.BuiltMethod(
    model=parts.model,
    process=algorithms.build_fed_async(
      parts.model,
      parts.client_optimizer,
      max_staleness=participation.max_staleness(parts.config),
      mixing_weight=parts.algorithm.mixing_weight,
      staleness_weight=fed_buff.build_staleness_weight(parts.algorithm),
      client_weighting=parts.client_weighting,
      model_aggregator=parts.model_aggregator,
    ),
  )


METHOD = method.Method(
  name='fed_async',
  title='FedAsync',
  fields={
    'client_optimizer': optimizers.FIELDS['client_optimizer'],
    'mixing_weight': fields.Field(
      0.6,
      fields.share,
      "alpha, an answer's share of the next model; its paper has rounds of 1.",
    ),
    **fed_buff.STALENESS_FIELDS,
  },
  supports=fed_buff.METHOD.supports,
  reasons=fed_buff.METHOD.reasons,
  shared_across=fed_buff.METHOD.shared_across - {config_fields.SERVER_RATE},
  is_asynchronous=True,
  build=_build,
)
