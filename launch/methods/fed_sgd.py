# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedSGD (McMahan et al., 2017): one server step on the mean gradient.

The server's learning rate is that of a step along the gradient; configs give it
the value of their clients' rate, with which FedSGD is FedAvg with one batch and
epoch per round. The client's learning rate is only used for personalisation.
"""

from fedfish_tff import algorithms
from launch.methods import building
from launch.methods import method
from launch.methods import optimizers


def _build(parts: building.Ingredients) -> building.BuiltMethod:
  return building.BuiltMethod(
    model=parts.model,
    process=algorithms.build_fed_sgd(
      parts.model,
      # Only the server takes steps on data, so blocks change its optimizer.
      parts.change(building.CLIENT_OPTIMIZER, parts.server_optimizer),
      client_optimizer_fn=parts.client_optimizer,
      client_weighting=parts.client_weighting,
      model_aggregator=parts.model_aggregator,
    ),
  )


METHOD = method.Method(
  name='fed_sgd',
  title='FedSGD',
  fields={
    **optimizers.FIELDS,
    # It makes no other method: clients only take steps to personalise.
    'client_optimizer': optimizers.FIELDS['client_optimizer']._replace(
      label=None
    ),
  },
  supports={
    'fine_tuning',
    'learning_rates',
    'model_aggregator',
    'privacy',
    'repeated_visits',
    'weight_average',
  },
  reasons={
    'barrier': 'its clients train no model',
    'local_epochs': "it takes one gradient of a pass over a client's data",
  },
  baseline=1,
  shared_across=building.SHARED,
  build=_build,
)
