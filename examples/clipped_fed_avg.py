# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""A method of your own, in one file: FedAvg with clipped updates.

  python -m launch.train --workdir=runs/clipped \
    --config=launch/configs/digits.py:examples.clipped_fed_avg:METHOD

A client's update has at most the norm clipping_norm, a field, so no client
moves the model far. The package does not know this file: its name in the
variant, package.module:NAME, is enough. The method combines with the axes and
tools that it declares to support.
"""

from fedfish_tff import algorithms
from fedfish_tff import fields
from launch.methods import building
from launch.methods import method
from launch.methods import optimizers

import tensorflow_federated as tff


def _build(parts: building.Ingredients) -> building.BuiltMethod:
  return building.BuiltMethod(
    model=parts.model,
    process=algorithms.build_fed_avg(
      parts.model,
      parts.client_optimizer,
      parts.server_optimizer,
      client_weighting=parts.client_weighting,
      model_aggregator=tff.aggregators.clipping_factory(
        parts.algorithm.clipping_norm, tff.aggregators.MeanFactory()
      ),
    ),
  )


METHOD = method.Method(
  name='clipped_fed_avg',
  title='Clipped FedAvg',
  fields={
    **optimizers.FIELDS,
    'clipping_norm': fields.Field(
      1.0, fields.number(positive=True), 'The largest norm of an update.'
    ),
  },
  supports={
    'barrier',
    'fine_tuning',
    'learning_rates',
    'local_epochs',
    'repeated_visits',
  },
  build=_build,
)
