# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""An aggregator for rules that need each client's update, not only sums.

TFF 0.87 has no `federated_collect`. Here `federated_aggregate` appends rows, as
`tff.aggregators.UnweightedReservoirSamplingFactory` does.
"""

import collections

from fedfish_tff.aggregators import robust_rules

import tensorflow as tf
import tensorflow_federated as tff


class CollectedUpdatesFactory(tff.aggregators.WeightedAggregationFactory):
  """Combines updates by a rule that takes all of them, one by one.

  **The server sees every client's update in the clear**: neither a secure sum
  nor privacy by sums is possible. The server needs memory for all updates of
  the cohort, where a sum needs memory for one.

  The created process takes a structure of float tensors of one dtype, and
  returns the same type. All clients with a positive weight count equally. The
  rule gets no row for a client without one (left out, or without data), or with
  a value that is not finite. The measurement `clients`, int32, is the number of
  rows.
  """

  def __init__(self, rule: robust_rules.RowRule):
    """Initializes the factory.

    Args:
      rule: A rule that takes one row per client, such as `median_of_rows`.
    """
    self._rule = rule

  def create(
    self, value_type: tff.Type, weight_type: tff.Type
  ) -> tff.templates.AggregationProcess:
    """Creates the process for float tensors with scalar weights."""
    if not isinstance(value_type, tff.TensorType) or len(value_type.shape) != 1:
      # It gives this factory values that are one row.
      return tff.aggregators.concat_factory(self).create(
        value_type, weight_type
      )
    dtype, shape = value_type.dtype, tuple(value_type.shape)
    rows_type = tff.TensorType(dtype, (None, *shape))

    @tff.tensorflow.computation
    def zero():
      return tf.zeros((0, *shape), dtype)

    @tff.tensorflow.computation(
      rows_type, tff.to_type((value_type, weight_type))
    )
    def accumulate(rows, contribution):
      value, weight = contribution
      counts = tf.logical_and(
        weight > 0, tf.reduce_all(tf.math.is_finite(value))
      )
      # The value's row, or no row.
      row = value[tf.newaxis][: tf.cast(counts, tf.int32)]
      return tf.concat([rows, row], axis=0)

    @tff.tensorflow.computation(rows_type, rows_type)
    def merge(one, other):
      return tf.concat([one, other], axis=0)

    @tff.tensorflow.computation(rows_type)
    def report(rows):
      return self._rule(rows), tf.shape(rows)[0]

    @tff.federated_computation
    def init_fn():
      return tff.federated_value((), tff.SERVER)

    @tff.federated_computation(
      init_fn.type_signature.result,
      tff.FederatedType(value_type, tff.CLIENTS),
      tff.FederatedType(weight_type, tff.CLIENTS),
    )
    def next_fn(state, value, weight):
      result, clients = tff.federated_aggregate(
        tff.federated_zip((value, weight)), zero(), accumulate, merge, report
      )
      return tff.templates.MeasuredProcessOutput(
        state,
        result,
        tff.federated_zip(collections.OrderedDict(clients=clients)),
      )

    return tff.templates.AggregationProcess(init_fn, next_fn)
