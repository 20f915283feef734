# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedAvg (McMahan et al., 2017), on all weights or on those that are sent."""

from __future__ import annotations

import typing

from fedfish_tff import algorithms
from launch.methods import batch_normalization
from launch.methods import building
from launch.methods import method
from launch.methods import optimizers

if typing.TYPE_CHECKING:
  import tensorflow_federated as tff


def _build(parts: building.Ingredients) -> building.BuiltMethod:
  return build_mean(parts, parts.client_optimizer)


def build_mean(
  parts: building.Ingredients,
  client_optimizer: tff.learning.optimizers.Optimizer,
) -> building.BuiltMethod:
  """Builds FedAvg with a client optimizer, which may change the method."""
  weighting = {'client_weighting': parts.client_weighting}
  exchange = parts.exchange()
  local_tensors = batch_normalization.kept_tensors(parts)
  if local_tensors:
    process = algorithms.build_fed_per(
      parts.model,
      client_optimizer,
      parts.server_optimizer,
      local_tensors=local_tensors,
      local_statistics=True,
      model_aggregator=parts.model_aggregator,
      **weighting,
    )
  elif not exchange:
    process = algorithms.build_fed_avg(
      parts.model,
      client_optimizer,
      parts.server_optimizer,
      model_aggregator=parts.model_aggregator,
      **weighting,
    )
  elif parts.config.keeps_models:
    process = algorithms.build_stateful_partial_exchange(
      parts.model, client_optimizer, **exchange, **weighting
    )
  else:
    process = algorithms.build_partial_exchange(
      parts.model,
      client_optimizer,
      parts.server_optimizer,
      **exchange,
      **weighting,
    )
  return building.BuiltMethod(model=parts.model, process=process)


METHOD = method.Method(
  name='fed_avg',
  title='FedAvg',
  fields=optimizers.FIELDS,
  supports={
    'barrier',
    'client_keeps',
    'exchange',
    'fine_tuning',
    'learning_rates',
    'local_epochs',
    'model_aggregator',
    'privacy',
    'repeated_visits',
    'statistics',
    'weight_average',
  },
  # Reddi et al. (2021), algorithm 2, and Hsu et al. (2019).
  server_titles={
    'adagrad': 'FedAdagrad',
    'adam': 'FedAdam',
    'sgdm': 'FedAvgM',
    'yogi': 'FedYogi',
  },
  baseline=2,
  shared_across=building.SHARED,
  averages_models=True,
  build=_build,
)
