# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The weighted mean of each tensor over the clients that sent it.

Zhang and Emerson, "Partial Weight Exchange in Federated Learning" (2023),
section 2: each tensor's average is weighted by the numbers of examples of the
clients that sent it. Masks with the shapes of the tensors give the same per
coordinate. Numerators and denominators go through ONE inner sum factory, as one
structure: clipping, quantisation or secure-sum ranges that adapt to each sum
separately would change the ratio.
"""

import collections
from typing import Any

from fedfish_tff import errors
from fedfish_tff.aggregators import sum_factories

import tensorflow as tf
import tensorflow_federated as tff


class PartialMeanFactory(tff.aggregators.WeightedAggregationFactory):
  """Aggregates <delta, mask> to <delta>, sum(w m delta) / sum(w m) per tensor.

  The created process takes values of type <delta=T, mask=M>, each with a float
  weight. T is a structure of float tensors and M one of bools: for each tensor,
  a scalar or an array of its shape. The process returns a <delta=T>: 0 where no
  client with a positive weight has sent. Its measurements are those of the inner
  factory.
  """

  def __init__(
    self,
    sum_factory: tff.aggregators.UnweightedAggregationFactory | None = None,
    *,
    minimum_denominator: float = 0.0,
  ):
    """Initializes the factory.

    Args:
      sum_factory: The aggregator of <numerator, denominator> as one structure;
        `tff.aggregators.SumFactory` by default. For inexact sums use a positive
        `minimum_denominator`.
      minimum_denominator: The bound, 0 or more, at or below which a sum of
        weights counts as zero.
    """
    errors.check_range('minimum_denominator', minimum_denominator, least=0)
    self._sum_factory = sum_factories.unweighted_factory(sum_factory)
    self._minimum = minimum_denominator

  def create(
    self,
    value_type: tff.types.StructType,
    weight_type: tff.types.TensorType,
  ) -> tff.templates.AggregationProcess:
    """Creates the process for <delta=T, mask=M> with float scalar weights."""
    _check_value_type(value_type)
    minimum = self._minimum

    @tff.tensorflow.computation(value_type, weight_type)
    def weigh(value, weight):
      deltas = tf.nest.flatten(value['delta'])
      masks = tf.nest.flatten(value['mask'])
      # A product with the mask would not do, since unsent parts may be NaN.
      numerators = [
        tf.where(m, d * tf.cast(weight, d.dtype), tf.zeros_like(d))
        for d, m in zip(deltas, masks)
      ]
      denominators = [
        tf.where(m, tf.cast(weight, d.dtype), tf.zeros([], d.dtype))
        for d, m in zip(deltas, masks)
      ]
      return collections.OrderedDict(
        numerator=tf.nest.pack_sequence_as(value['delta'], numerators),
        denominator=tf.nest.pack_sequence_as(value['mask'], denominators),
      )

    sum_process = self._sum_factory.create(weigh.type_signature.result)

    @tff.tensorflow.computation(weigh.type_signature.result)
    def divide(sums):
      quotients = []
      for numerator, denominator in zip(
        tf.nest.flatten(sums['numerator']),
        tf.nest.flatten(sums['denominator']),
      ):
        usable = denominator > minimum
        quotient = numerator / tf.where(usable, denominator, 1.0)
        quotients.append(tf.where(usable, quotient, tf.zeros_like(quotient)))
      return collections.OrderedDict(
        delta=tf.nest.pack_sequence_as(sums['numerator'], quotients)
      )

    @tff.federated_computation
    def init_fn():
      return sum_process.initialize()

    @tff.federated_computation(
      init_fn.type_signature.result,
      tff.FederatedType(value_type, tff.CLIENTS),
      tff.FederatedType(weight_type, tff.CLIENTS),
    )
    def next_fn(state, value, weight):
      sums = sum_process.next(state, tff.federated_map(weigh, (value, weight)))
      return tff.templates.MeasuredProcessOutput(
        sums.state, tff.federated_map(divide, sums.result), sums.measurements
      )

    return tff.templates.AggregationProcess(init_fn, next_fn)


def _check_value_type(value_type: Any) -> None:
  expected = (
    '<delta=T, mask=M> with T a structure of float tensors and M one of as '
    'many bools, scalars or of the shapes of T'
  )
  error = TypeError(f'Expected a value of type {expected}, got {value_type}.')
  if not isinstance(value_type, tff.types.StructType) or set(
    tff.structure.name_list(value_type)
  ) != {'delta', 'mask'}:
    raise error
  deltas = tff.structure.flatten(value_type['delta'])
  masks = tff.structure.flatten(value_type['mask'])
  if not tff.types.is_structure_of_floats(value_type['delta']):
    raise error
  if len(deltas) != len(masks):
    raise error
  for delta, mask in zip(deltas, masks):
    if mask.dtype != tf.bool or mask.shape not in ((), delta.shape):
      raise error
