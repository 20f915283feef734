# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""APFL (Deng et al., 2020): clients mix the global model with a local one."""

from fedfish_tff import algorithms
from fedfish_tff import fields
from launch.methods import building
from launch.methods import ditto
from launch.methods import method
from launch.methods import optimizers


def _build(parts: building.Ingredients) -> building.BuiltMethod:
  return parts.build(
    algorithms.build_apfl,
    mixture=parts.algorithm.mixture,
    adaptive=parts.algorithm.adaptive,
    local_epochs=parts.config.local_epochs,
    model_aggregator=parts.model_aggregator,
  )


METHOD = method.Method(
  name='apfl',
  title='APFL',
  fields={
    **optimizers.FIELDS,
    **optimizers.UNIFORM,
    'mixture': fields.Field(
      0.5,
      fields.from_0_to_1,
      "alpha at first, the local model's share; the paper has 0.25, 0.5, 0.75.",
    ),
    'adaptive': fields.Field(
      True, fields.boolean, 'Whether each client trains its share, too.'
    ),
  },
  supports=ditto.METHOD.supports,
  reasons=ditto.METHOD.reasons,
  shared_across=ditto.METHOD.shared_across,
  keeps_models=True,
  build=_build,
)
