# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Aggregation of each part of the clients' updates by its own factory."""

import collections
from collections.abc import Mapping

import tensorflow_federated as tff


class NamedPartsFactory(tff.aggregators.WeightedAggregationFactory):
  """Aggregates <delta=T, ...> with a separate factory for each name.

  The created process returns a structure of the same names. Its measurements
  are those of `delta`.

  Attributes:
    factories: The factory of each part.
  """

  def __init__(
    self,
    factories: Mapping[
      str,
      tff.aggregators.WeightedAggregationFactory
      | tff.aggregators.UnweightedAggregationFactory,
    ],
  ):
    """Initializes the factory.

    Args:
      factories: The factories, by name. Only weighted ones get the clients'
        weights.
    """
    self.factories = factories

  def create(
    self, value_type: tff.Type, weight_type: tff.Type
  ) -> tff.templates.AggregationProcess:
    """Creates the process for a structure with the factories' names."""
    weighted = tff.aggregators.WeightedAggregationFactory
    processes = {
      name: factory.create(value_type[name], weight_type)
      if isinstance(factory, weighted)
      else factory.create(value_type[name])
      for name, factory in self.factories.items()
    }

    @tff.federated_computation
    def init_fn():
      return tff.federated_zip(
        collections.OrderedDict(
          (name, process.initialize()) for name, process in processes.items()
        )
      )

    @tff.federated_computation(
      init_fn.type_signature.result,
      tff.FederatedType(value_type, tff.CLIENTS),
      tff.FederatedType(weight_type, tff.CLIENTS),
    )
    def next_fn(state, value, weight):
      outputs = {
        name: process.next(state[name], value[name], weight)
        if process.is_weighted
        else process.next(state[name], value[name])
        for name, process in processes.items()
      }

      def zipped(part):
        return tff.federated_zip(
          collections.OrderedDict(
            (name, getattr(output, part)) for name, output in outputs.items()
          )
        )

      return tff.templates.MeasuredProcessOutput(
        zipped('state'), zipped('result'), outputs['delta'].measurements
      )

    return tff.templates.AggregationProcess(init_fn, next_fn)
