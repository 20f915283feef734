# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Mime Lite (Karimireddy et al., 2021): clients step with server momentum.

The clients' optimizer is the adaptive one. The server takes the mean as it is.
"""

from fedfish_tff import algorithms
from launch.methods import building
from launch.methods import method
from launch.methods import optimizers


def _build(parts: building.Ingredients) -> building.BuiltMethod:
  return parts.build(
    algorithms.build_mime_lite, local_epochs=parts.config.local_epochs
  )


METHOD = method.Method(
  name='mime_lite',
  title='Mime Lite',
  fields={
    **optimizers.FIELDS,
    **optimizers.UNIFORM,
    'client_optimizer': optimizers.FIELDS['client_optimizer']._replace(
      default='mean_sgdm'
    ),
  },
  supports={
    'fine_tuning',
    'learning_rates',
    'local_epochs',
    'repeated_visits',
    'statistics',
    'weight_average',
  },
  reasons={
    'barrier': "its clients train with the server's optimizer state, so that "
    'their own models cannot be trained again outside of the round',
    'privacy': "its clients' gradients are a second sum",
  },
  shared_across=building.SHARED,
  build=_build,
)
