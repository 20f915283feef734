# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedDyn (Acar et al., 2021): clients keep a linear term of their losses."""

from fedfish_tff import algorithms
from fedfish_tff import fields
from launch.methods import building
from launch.methods import method
from launch.methods import optimizers


def _build(parts: building.Ingredients) -> building.BuiltMethod:
  process = algorithms.build_fed_dyn(
    parts.model,
    parts.client_optimizer,
    parts.server_optimizer,
    num_clients=len(parts.task.train.client_ids),
    regularization=parts.algorithm.regularization,
  )
  return building.BuiltMethod(model=parts.model, process=process)


METHOD = method.Method(
  name='fed_dyn',
  title='FedDyn',
  fields={
    **optimizers.SERVER,
    'client_optimizer': optimizers.FIELDS['client_optimizer'],
    'regularization': fields.Field(
      0.1,
      fields.number(positive=True),
      'alpha, how strongly clients are pulled to the global weights; the paper '
      'tunes it over 0.001, 0.01, 0.03 and 0.1.',
    ),
  },
  supports={'learning_rates', 'local_epochs', 'repeated_visits', 'statistics'},
  reasons={
    'barrier': 'its clients train with states, so that their own models cannot '
    'be trained again outside of the round',
    'fine_tuning': 'its server adds up the updates of whole models',
    'model_aggregator': 'its server adds up the updates of all rounds, of which '
    'the mean of a round is a part',
    'privacy': 'its server adds up the updates of all rounds',
  },
  shared_across=building.SHARED,
  build=_build,
)
