# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedProx (Li et al., 2020): a penalty pulls clients to the round's start."""

from fedfish_tff import client_work
from fedfish_tff import fields
from launch.methods import building
from launch.methods import fed_avg
from launch.methods import method
from launch.methods import optimizers


def _build(parts: building.Ingredients) -> building.BuiltMethod:
  # FedProx is FedAvg with this optimizer; see `algorithms.build_fed_prox`.
  return fed_avg.build_mean(
    parts,
    client_work.build_proximal_optimizer(
      parts.client_optimizer, parts.algorithm.proximal_strength
    ),
  )


METHOD = method.Method(
  name='fed_prox',
  title='FedProx',
  fields={
    **optimizers.FIELDS,
    'proximal_strength': fields.Field(
      0.1,
      fields.number(positive=False),
      'How strong the pull is; the paper tunes it over 0.001, 0.01, 0.1 and 1.',
    ),
  },
  supports=fed_avg.METHOD.supports - {'client_keeps'},
  reasons={
    'client_keeps': "its pull is to the server's weights, from which clients "
    'with weights of their own do not start'
  },
  shared_across=building.SHARED,
  averages_models=True,
  build=_build,
)
