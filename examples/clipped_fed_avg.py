# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""A method of your own, in one file: FedAvg with clipped updates.

  python -m launch.train --workdir=runs/clipped \
    --config=examples/cellars.py:examples.clipped_fed_avg:METHOD

A client's update has at most the norm clipping_norm, a field, so no client
moves the model far. The package does not know this file: its name in the
variant, package.module:NAME, is enough. The method combines with the axes and
tools that it declares to support.
"""

from fedfish_tff import algorithms
from fedfish_tff import fields
from fedfish_tff import models
from launch.methods import building
from launch.methods import method
from launch.methods import optimizers

import tensorflow_federated as tff


def build_clipped_fed_avg(
  model_fn: models.ModelFn,
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
  server_optimizer_fn: tff.learning.optimizers.Optimizer,
  *,
  clipping_norm: float,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.NUM_EXAMPLES
  ),
) -> algorithms.FederatedProcess:
  """Builds FedAvg with clipped updates.

  Args:
    model_fn: A functional model, or a function that returns a variable model.
    client_optimizer_fn: The client optimizer.
    server_optimizer_fn: The server optimizer, applied to the mean of updates.
    clipping_norm: The largest norm of a client's update.
    client_weighting: The clients' weights.
  """
  # The one change: another of TFF's aggregators.
  aggregator = tff.aggregators.clipping_factory(
    clipping_norm, tff.aggregators.MeanFactory()
  )
  return algorithms.build_fed_avg(
    model_fn,
    client_optimizer_fn,
    server_optimizer_fn,
    client_weighting=client_weighting,
    model_aggregator=aggregator,
  )


def _build(parts: building.Ingredients) -> building.BuiltMethod:
  return building.BuiltMethod(
    model=parts.model,
    process=build_clipped_fed_avg(
      parts.model,
      parts.client_optimizer,
      parts.server_optimizer,
      clipping_norm=parts.algorithm.clipping_norm,
      client_weighting=parts.client_weighting,
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
    'weight_average',
  },
  # Runs that differ in rates and seeds alone share their computations.
  shared_across=building.SHARED,
  build=_build,
)
