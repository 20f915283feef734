# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedNova (Wang et al., 2020): updates normalised by the number of steps."""

from fedfish_tff import algorithms
from fedfish_tff import fields
from launch.methods import building
from launch.methods import fed_avg
from launch.methods import method
from launch.methods import optimizers


def _build(parts: building.Ingredients) -> building.BuiltMethod:
  return parts.build(
    algorithms.build_fed_nova, model_aggregator=parts.model_aggregator
  )


METHOD = method.Method(
  name='fed_nova',
  title='FedNova',
  fields={
    **optimizers.SERVER_FIELDS,
    'client_optimizer': optimizers.FIELDS['client_optimizer']._replace(
      check=fields.one_of('mean_sgdm', 'nesterov', 'sgd', 'sgdm', 'sgdm_half'),
      help='What clients take local steps with, which are linear in the '
      'gradients.',
    ),
  },
  supports=fed_avg.METHOD.supports - {'client_keeps', 'exchange', 'privacy'},
  reasons={
    'client_keeps': 'its server scales the mean of whole updates',
    'exchange': 'its server scales the mean of whole updates',
    'privacy': 'it also sums how far the steps of each client go, without noise',
  },
  shared_across=building.SHARED,
  build=_build,
)
