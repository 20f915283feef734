# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Statistics of batches, averaged over the clients of a round.

With a model's statistics s, such as the moving means and variances of batch
normalisation, and client i's s_i after its training from the global ones, the
server computes with the weights n_i of the clients' updates

  s <- sum(n_i s_i) / sum(n_i)

whatever it does with the trainable weights. Frameworks that average a client's
whole state do the same.
"""

import collections

from fedfish_tff import errors
from fedfish_tff import finite_checks
from fedfish_tff.aggregators import fisher_weighted_mean
from fedfish_tff.aggregators import named_parts
from fedfish_tff.algorithms import server_step as server_step_lib
from fedfish_tff.client_work import client_update as client_update_lib
from fedfish_tff.models import extended_model
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff

# The parts of an update; `NamedPartsFactory` returns the measurements of delta.
_METHODS, _STATISTICS = 'delta', 'statistics'


def refuse(model_fn: model_functions.ModelFn, method: str) -> None:
  """Raises InputError for a functional model with statistics of batches.

  The error names the method, which has no place for them.
  """
  if extended_model.changes_statistics(model_fn):
    raise errors.InputError(
      f'{method} must have a model without statistics of batches, such as those '
      'of batch normalisation, since it averages none, got one with; frozen '
      'statistics (in a config: a block batch_normalization=frozen) and '
      'GroupNormalization go with it.'
    )


def add(
  client_update_fn: client_update_lib.ClientUpdateFn,
  model_aggregator: tff.aggregators.WeightedAggregationFactory | None,
  server_step: server_step_lib.ServerStepFn,
) -> tuple[
  client_update_lib.ClientUpdateFn,
  tff.aggregators.WeightedAggregationFactory,
  server_step_lib.ServerStepFn,
]:
  """Returns the parts of a method that also averages statistics.

  Args:
    client_update_fn: The method's client work, which sets `trained`.
    model_aggregator: An aggregator of plain sums, such as TFF's mean; None for
      that. Another raises InputError, since the statistics would escape its
      noise or rule.
    server_step: The method's server step, for the trainable weights.
  """

  def client_update(bound, sent, own, dataset):
    update = client_update_fn(bound, sent, own, dataset)
    if update.trained is None:
      raise errors.InputError(
        'Client work must set `trained` for a model with statistics of '
        'batches, such as those of batch normalisation, got none.'
      )
    statistics = tuple(
      before - after
      for before, after in zip(
        sent.weights.non_trainable, update.trained.non_trainable, strict=True
      )
    )
    return update._replace(
      update=collections.OrderedDict(
        {_METHODS: update.update, _STATISTICS: statistics}
      )
    )

  def step(take_step, server, aggregate):
    taken, stepped = server_step(take_step, server, aggregate[_METHODS])
    change = aggregate[_STATISTICS]
    is_taken = tf.logical_and(
      tf.logical_not(taken.rejected), finite_checks.all_finite(change)
    )
    statistics = tuple(
      tf.where(is_taken, s - c, s)
      for s, c in zip(server.weights.non_trainable, change, strict=True)
    )
    weights = stepped.weights._replace(non_trainable=statistics)
    return taken, stepped._replace(weights=weights)

  if not _is_plain(model_aggregator):
    raise errors.InputError(
      'model_aggregator or sum_factory must be left out for a model with '
      'statistics of batches, such as those of batch normalisation, since these '
      'are summed beside it and would escape its clipping, noise, rule or secure '
      'sums; frozen statistics and GroupNormalization go with any aggregator.'
    )
  factory = named_parts.NamedPartsFactory(
    {
      _METHODS: server_step_lib.weighted_factory(model_aggregator),
      _STATISTICS: tff.aggregators.MeanFactory(),
    }
  )
  return client_update, factory, step


def _is_plain(
  factory: tff.aggregators.WeightedAggregationFactory | None,
) -> bool:
  """Returns whether a method's aggregator is certain to take plain sums."""
  if isinstance(factory, named_parts.NamedPartsFactory):
    return _is_plain(factory.factories['delta'])
  if isinstance(factory, fisher_weighted_mean.FisherWeightedMeanFactory):
    return factory.takes_plain_sums
  return factory in (None, server_step_lib.weighted_factory(None))
