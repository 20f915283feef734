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
from fedfish_tff.aggregators import sum_factories
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

  Of a large tensor only every k-th element is used, since sorting millions of
  them can take longer than a client's training. k is odd, because a power of
  two would stay within one column of a matrix.
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
  """Aggregates <delta, fisher> to <delta>, sum(w F Delta) / sum(w F).

  The created process takes values of type <delta=T, fisher=T>, each with a
  float weight, and returns a <delta=T>, elementwise: 0 where the denominator is 0
  (or not above `minimum_denominator`). Its measurements are

  * `zero_denominator_share`: the share of coordinates with an unusable
    denominator, where the update is 0;
  * `fisher_sum`: for each tensor the 5, 50 and 95 % quantiles of sum(w F),
    which grows with weights and cohort;
  * `sum`: the inner factory's own measurements.

  With `diagnostics`, a client also sends w Delta and (w F)^2, which is twice
  the model's size, and there are

  * `effective_clients`: for each tensor the 5, 50 and 95 % quantiles and the
    mean of N_eff = sum(p)^2 / sum(p^2) with p = w F / sum(w F), from 1, where
    one client decides a coordinate, to the size of the cohort, where all count
    alike. Coordinates without a usable denominator have 0 and are not in the
    mean;
  * `effective_clients_mean`: the mean over the coordinates of all tensors;
  * `largest_client_share`: the largest share of one client in the sum of w F
    over all coordinates;
  * `cosine_to_mean`, `norm_to_mean`: the cosine between the result and
    sum(w Delta) / sum(w), which is FedAvg's update, and the quotient of their
    norms.

  Attributes:
    takes_plain_sums: Whether `sum_factory` is the default one.
  """

  def __init__(
    self,
    sum_factory: tff.aggregators.UnweightedAggregationFactory | None = None,
    *,
    minimum_denominator: float = 0.0,
    diagnostics: bool = False,
    tensor_names: Sequence[str] | None = None,
  ):
    """Initializes the factory.

    Args:
      sum_factory: The aggregator of <numerator, denominator> as one structure;
        `tff.aggregators.SumFactory` by default. For inexact sums (secure sums,
        differential privacy, quantisation) use damping at the clients and a
        positive `minimum_denominator`.
      minimum_denominator: The bound, 0 or more, at or below which a denominator
        counts as zero.
      diagnostics: Whether to measure how many clients count and how far the
        result is from FedAvg's. Their sums go through a separate process made
        by `sum_factory`, but the largest share is a plain maximum.
      tensor_names: A name for each tensor; by position and shape by default.
    """
    errors.check_range('minimum_denominator', minimum_denominator, least=0)
    self._sum_factory = sum_factories.unweighted_factory(sum_factory)
    self.takes_plain_sums = sum_factory is None
    self._minimum = minimum_denominator
    self._diagnostics = diagnostics
    self._tensor_names = tensor_names

  def create(
    self,
    value_type: tff.types.StructType,
    weight_type: tff.types.TensorType,
  ) -> tff.templates.AggregationProcess:
    """Creates the process for <delta=T, fisher=T> with float scalar weights.

    T is a structure of float tensors.
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

    @tff.tensorflow.computation(weigh.type_signature.result)
    def mass_of(weighed):
      return _total(weighed['denominator'])

    @tff.tensorflow.computation(
      value_type, weight_type, weigh.type_signature.result
    )
    def diagnose(value, weight, weighed):
      return collections.OrderedDict(
        delta=tf.nest.map_structure(
          lambda d: d * tf.cast(weight, d.dtype), value['delta']
        ),
        weight=weight,
        squares=tf.nest.map_structure(tf.square, weighed['denominator']),
      )

    sum_process = self._sum_factory.create(weigh.type_signature.result)
    diagnostics_process = (
      self._sum_factory.create(diagnose.type_signature.result)
      if self._diagnostics
      else None
    )

    @tff.tensorflow.computation(weigh.type_signature.result)
    def divide(sums):
      return collections.OrderedDict(
        delta=tf.nest.map_structure(
          lambda n, d: _ratio(n, d, minimum),
          sums['numerator'],
          sums['denominator'],
        )
      )

    @tff.tensorflow.computation(weigh.type_signature.result)
    def measure(sums):
      denominators = tf.nest.flatten(sums['denominator'])
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

    @tff.tensorflow.computation(
      divide.type_signature.result,
      weigh.type_signature.result,
      diagnose.type_signature.result,
      mass_of.type_signature.result,
    )
    def summarize(mean, sums, diagnosed, largest):
      denominators = tf.nest.flatten(sums['denominator'])
      squares = tf.nest.flatten(diagnosed['squares'])
      mean, delta = tf.nest.flatten(mean), tf.nest.flatten(diagnosed['delta'])
      effective = [
        _effective_clients(d, s, minimum) for d, s in zip(denominators, squares)
      ]
      return collections.OrderedDict(
        effective_clients=collections.OrderedDict(
          (name, collections.OrderedDict(_quantiles(e), mean=_mean_positive(e)))
          for name, e in zip(names, effective)
        ),
        effective_clients_mean=_mean_positive(
          tf.concat([tf.reshape(e, [-1]) for e in effective], axis=0)
        ),
        largest_client_share=tf.math.divide_no_nan(
          largest, _total(sums['denominator'])
        ),
        cosine_to_mean=_cosine(mean, delta),
        norm_to_mean=tf.math.divide_no_nan(
          tf.linalg.global_norm(mean)
          * tf.cast(diagnosed['weight'], mean[0].dtype),
          tf.linalg.global_norm(delta),
        ),
      )

    @tff.federated_computation
    def init_fn():
      state = collections.OrderedDict(sum=sum_process.initialize())
      if diagnostics_process is not None:
        state['diagnostics'] = diagnostics_process.initialize()
      return tff.federated_zip(state)

    @tff.federated_computation(
      init_fn.type_signature.result,
      tff.FederatedType(value_type, tff.CLIENTS),
      tff.FederatedType(weight_type, tff.CLIENTS),
    )
    def next_fn(state, value, weight):
      weighed = tff.federated_map(weigh, (value, weight))
      sums = sum_process.next(state['sum'], weighed)
      mean = tff.federated_map(divide, sums.result)
      new_state = collections.OrderedDict(sum=sums.state)
      measured = tff.federated_map(measure, sums.result)
      measurements = collections.OrderedDict(
        zero_denominator_share=measured['zero_denominator_share'],
        fisher_sum=measured['fisher_sum'],
        sum=sums.measurements,
      )
      if diagnostics_process is not None:
        diagnosed = diagnostics_process.next(
          state['diagnostics'],
          tff.federated_map(diagnose, (value, weight, weighed)),
        )
        new_state['diagnostics'] = diagnosed.state
        largest = tff.federated_max(tff.federated_map(mass_of, weighed))
        summary = tff.federated_map(
          summarize, (mean, sums.result, diagnosed.result, largest)
        )
        for name in tff.structure.name_list(summarize.type_signature.result):
          measurements[name] = summary[name]
      return tff.templates.MeasuredProcessOutput(
        tff.federated_zip(new_state), mean, tff.federated_zip(measurements)
      )

    return tff.templates.AggregationProcess(init_fn, next_fn)


def _total(tensors: Any) -> tf.Tensor:
  """Returns the sum of all numbers of a structure, float32."""
  return tf.add_n(
    [tf.cast(tf.reduce_sum(t), tf.float32) for t in tf.nest.flatten(tensors)]
  )


def _effective_clients(
  denominator: tf.Tensor, squares: tf.Tensor, minimum: float
) -> tf.Tensor:
  """Returns N_eff of each coordinate, 0 without a usable denominator."""
  usable = tf.logical_and(denominator > minimum, squares > 0)
  # Squared last, since the square of a small denominator vanishes.
  root = tf.sqrt(tf.where(usable, squares, 1.0))
  return tf.where(usable, tf.square(denominator / root), 0.0)


def _mean_positive(values: tf.Tensor) -> tf.Tensor:
  """Returns the mean of the values that are not 0."""
  count = tf.math.count_nonzero(values, dtype=values.dtype)
  return tf.math.divide_no_nan(tf.reduce_sum(values), count)


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
