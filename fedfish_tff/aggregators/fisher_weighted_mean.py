# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The Fisher-weighted mean of client updates, coordinate by coordinate.

FedFish (Dhawan et al., TMLR 2024, arXiv:2311.10291), Algorithm 1, line 8: the
server's update is sum_i w_i F_i Delta_i / sum_i w_i F_i, elementwise. Both sums
go through ONE inner sum factory, as one structure: clipping, quantisation or
secure-sum ranges that adapt to each sum separately would change the ratio.
"""

import collections
from collections.abc import Sequence
from typing import Any

from fedfish_tff import errors
from fedfish_tff.aggregators import tensor_names as tensor_names_lib

import tensorflow as tf
import tensorflow_federated as tff

_QUANTILES = (('p05', 0.05), ('p50', 0.5), ('p95', 0.95))


def _ratio(
  numerator: tf.Tensor, denominator: tf.Tensor, minimum: float
) -> tf.Tensor:
  """Returns the quotient where the denominator exceeds `minimum`, else 0."""
  usable = denominator > minimum
  return tf.where(usable, numerator / tf.where(usable, denominator, 1.0), 0.0)


# Enough for a quantile within half a percent of its rank.
_MAX_SORTED_ELEMENTS = 2**16


def _quantiles(values: tf.Tensor) -> collections.OrderedDict[str, tf.Tensor]:
  """Returns order statistics, without interpolation.

  Args:
    values: The values. For a large tensor only every k-th element is used,
      since sorting millions of them can take longer than a client's training. k
      is odd, because a power of two would stay within one column of a matrix.
  """
  values = tf.reshape(values, [-1])
  stride = -(-values.shape[0] // _MAX_SORTED_ELEMENTS) | 1
  ordered = tf.sort(values[::stride])
  last = tf.cast(tf.size(ordered) - 1, tf.float32)
  return collections.OrderedDict(
    (name, ordered[tf.cast(tf.round(q * last), tf.int32)])
    for name, q in _QUANTILES
  )


def _cosine(a: Sequence[tf.Tensor], b: Sequence[tf.Tensor]) -> tf.Tensor:
  """Returns the cosine of two lists of tensors as vectors; 0 for zeros."""
  dot = tf.add_n([tf.reduce_sum(x * y) for x, y in zip(a, b)])
  return tf.math.divide_no_nan(
    dot, tf.linalg.global_norm(a) * tf.linalg.global_norm(b)
  )


class FisherWeightedMeanFactory(tff.aggregators.WeightedAggregationFactory):
  """Aggregates <delta, fisher> to sum(w F Delta) / sum(w F), elementwise.

  The created process takes values of type <delta=T, fisher=T>, each with a
  float weight, and returns a T: 0 where the denominator is 0 (or not above
  `minimum_denominator`). Its measurements are

  * `zero_denominator_share`: the share of coordinates with an unusable
    denominator, where the update is 0;
  * `fisher_sum`: for each tensor the 5, 50 and 95 % quantiles of sum(w F),
    which grows with weights and cohort;
  * `sum`: the inner factory's own measurements;
  * with `measure_cosine`, `cosine_to_mean`: the cosine between the result and
    sum(w Delta), which is the direction of FedAvg's update. It costs a third
    sum of the model's size, so it is off by default.
  """

  def __init__(
    self,
    sum_factory: tff.aggregators.UnweightedAggregationFactory | None = None,
    *,
    minimum_denominator: float = 0.0,
    measure_cosine: bool = False,
    tensor_names: Sequence[str] | None = None,
  ):
    """Initializes the factory.

    Args:
      sum_factory: The aggregator of <numerator, denominator> as one structure;
        `tff.aggregators.SumFactory` by default. For inexact sums (secure sums,
        differential privacy, quantisation) use damping at the clients and a
        positive `minimum_denominator`.
      minimum_denominator: The bound at or below which a denominator counts as
        zero.
      measure_cosine: Whether to measure `cosine_to_mean`. Its sum goes through
        a separate process made by `sum_factory`.
      tensor_names: A name for each tensor; by position and shape by default.

    Raises:
      InputError: If `minimum_denominator` is negative.
    """
    if not minimum_denominator >= 0:
      raise errors.InputError(
        f'minimum_denominator must be 0 or positive, got {minimum_denominator}.'
      )
    self._sum_factory = sum_factory or tff.aggregators.SumFactory()
    self._minimum = minimum_denominator
    self._measure_cosine = measure_cosine
    self._tensor_names = tensor_names

  def create(
    self,
    value_type: tff.types.StructType,
    weight_type: tff.types.TensorType,
  ) -> tff.templates.AggregationProcess:
    """Creates the process; see the class.

    Args:
      value_type: <delta=T, fisher=T>, T a structure of float tensors.
      weight_type: A float scalar.

    Raises:
      TypeError: If `value_type` does not have that form.
    """
    _check_value_type(value_type)
    delta_type = value_type['delta']
    tensor_types = tff.structure.flatten(delta_type)
    names = tensor_names_lib.name_tensors(tensor_types, self._tensor_names)
    minimum = self._minimum

    @tff.tensorflow.computation(value_type, weight_type)
    def weigh(value, weight):
      weighted = tf.nest.map_structure(
        lambda f: f * tf.cast(weight, f.dtype), value['fisher']
      )
      return collections.OrderedDict(
        numerator=tf.nest.map_structure(tf.multiply, weighted, value['delta']),
        denominator=weighted,
      )

    @tff.tensorflow.computation(value_type, weight_type)
    def weigh_delta(value, weight):
      return tf.nest.map_structure(
        lambda d: d * tf.cast(weight, d.dtype), value['delta']
      )

    sum_process = self._sum_factory.create(weigh.type_signature.result)
    delta_sum_process = (
      self._sum_factory.create(delta_type) if self._measure_cosine else None
    )

    @tff.tensorflow.computation(weigh.type_signature.result)
    def divide(sums):
      return tf.nest.map_structure(
        lambda n, d: _ratio(n, d, minimum),
        sums['numerator'],
        sums['denominator'],
      )

    @tff.tensorflow.computation(weigh.type_signature.result)
    def measure(sums):
      return _measure_denominators(
        tf.nest.flatten(sums['denominator']), names, minimum
      )

    @tff.tensorflow.computation(delta_type, delta_type)
    def cosine(a, b):
      return _cosine(tf.nest.flatten(a), tf.nest.flatten(b))

    @tff.federated_computation
    def init_fn():
      state = collections.OrderedDict(sum=sum_process.initialize())
      if delta_sum_process is not None:
        state['delta_sum'] = delta_sum_process.initialize()
      return tff.federated_zip(state)

    @tff.federated_computation(
      init_fn.type_signature.result,
      tff.FederatedType(value_type, tff.CLIENTS),
      tff.FederatedType(weight_type, tff.CLIENTS),
    )
    def next_fn(state, value, weight):
      sums = sum_process.next(
        state['sum'], tff.federated_map(weigh, (value, weight))
      )
      mean = tff.federated_map(divide, sums.result)
      new_state = collections.OrderedDict(sum=sums.state)
      measured = tff.federated_map(measure, sums.result)
      measurements = collections.OrderedDict(
        zero_denominator_share=measured['zero_denominator_share'],
        fisher_sum=measured['fisher_sum'],
        sum=sums.measurements,
      )
      if delta_sum_process is not None:
        deltas = delta_sum_process.next(
          state['delta_sum'], tff.federated_map(weigh_delta, (value, weight))
        )
        new_state['delta_sum'] = deltas.state
        measurements['cosine_to_mean'] = tff.federated_map(
          cosine, (mean, deltas.result)
        )
      return tff.templates.MeasuredProcessOutput(
        tff.federated_zip(new_state), mean, tff.federated_zip(measurements)
      )

    return tff.templates.AggregationProcess(init_fn, next_fn)


def _measure_denominators(
  denominators: Sequence[tf.Tensor], names: Sequence[str], minimum: float
) -> collections.OrderedDict[str, Any]:
  unusable = tf.add_n(
    [
      tf.math.count_nonzero(tf.logical_not(d > minimum), dtype=tf.int64)
      for d in denominators
    ]
  )
  total = tf.add_n([tf.size(d, out_type=tf.int64) for d in denominators])
  return collections.OrderedDict(
    zero_denominator_share=tf.cast(unusable / total, tf.float32),
    fisher_sum=collections.OrderedDict(
      (name, _quantiles(d)) for name, d in zip(names, denominators)
    ),
  )


def _check_value_type(value_type: Any) -> None:
  expected = '<delta=T, fisher=T> with T a structure of float tensors'
  if not isinstance(value_type, tff.types.StructType) or set(
    tff.structure.name_list(value_type)
  ) != {'delta', 'fisher'}:
    raise TypeError(f'Expected a value of type {expected}, got {value_type}.')
  if not value_type['delta'].is_equivalent_to(value_type['fisher']):
    raise TypeError(
      f'Expected {expected}, got delta of type {value_type["delta"]} and '
      f'fisher of type {value_type["fisher"]}.'
    )
  if not tff.types.is_structure_of_floats(value_type):
    raise TypeError(f'Expected {expected}, got {value_type}.')
