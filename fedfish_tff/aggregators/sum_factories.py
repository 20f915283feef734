# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The sum inside of the aggregators that divide sums by sums."""

import tensorflow_federated as tff


def unweighted_factory(
  sum_factory: tff.aggregators.UnweightedAggregationFactory | None,
) -> tff.aggregators.UnweightedAggregationFactory:
  """Returns the sum factory that a caller is given, by default the exact sum.

  Any but an unweighted factory raises TypeError.
  """
  factory = sum_factory or tff.aggregators.SumFactory()
  if not isinstance(factory, tff.aggregators.UnweightedAggregationFactory):
    raise TypeError(
      'sum_factory must be a tff.aggregators.UnweightedAggregationFactory, such '
      'as SumFactory or SecureSumFactory, since the weights are in what it sums, '
      f'got {factory!r:.100}.'
    )
  return factory
