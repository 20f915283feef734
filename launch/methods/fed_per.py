# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedPer (Arivazhagan et al., 2019): clients keep the last layers."""

from fedfish_tff import algorithms
from launch.methods import building
from launch.methods import local_layers
from launch.methods import method
from launch.methods import optimizers


def _build(parts: building.Ingredients) -> building.BuiltMethod:
  local_tensors = local_layers.select(parts, 'local_layers')
  return parts.build(
    algorithms.build_fed_per,
    local_tensors=local_tensors,
    **local_layers.arguments(parts, local_tensors),
  )


METHOD = method.Method(
  name='fed_per',
  title='FedPer',
  fields={
    **optimizers.FIELDS,
    'local_layers': local_layers.LAYERS._replace(
      help=f'{local_layers.LAYERS.help} The paper compares 1 to 4 of them.'
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
