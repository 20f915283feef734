# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""LG-FedAvg (Liang et al., 2020): clients keep the first layers."""

from fedfish_tff import algorithms
from fedfish_tff import fields
from launch.methods import building
from launch.methods import local_layers
from launch.methods import method
from launch.methods import optimizers


def _build(parts: building.Ingredients) -> building.BuiltMethod:
  global_tensors = local_layers.select(parts, 'global_layers')
  return parts.build(
    algorithms.build_lg_fed_avg,
    global_tensors=global_tensors,
    **local_layers.arguments(parts, tuple(not g for g in global_tensors)),
  )


METHOD = method.Method(
  name='lg_fed_avg',
  title='LG-FedAvg',
  fields={
    **optimizers.FIELDS,
    **optimizers.UNIFORM,
    'global_layers': fields.Field(
      '',
      fields.text,
      'Layers that are sent and averaged, as local_layers of fed_per; none for '
      "the last layer. The paper's code has the last two of CIFAR-10's.",
    ),
  },
  supports=local_layers.SUPPORTS,
  reasons=local_layers.REASONS,
  personalizes=True,
  shared_across=building.SHARED,
  keeps_models=True,
  averages_models=True,
  build=_build,
)
