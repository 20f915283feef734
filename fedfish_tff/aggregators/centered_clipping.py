# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Centered clipping: a mean that no client moves far from the last result.

Karimireddy, He and Jaggi, "Learning from History for Byzantine Robust
Optimization", ICML 2021 (arXiv:2012.10333), Algorithm 2 with one iteration,
which begins at the last round's result.
"""

import collections

from fedfish_tff import errors
from fedfish_tff import finite_checks

import tensorflow as tf
import tensorflow_federated as tff


class CenteredClippingFactory(tff.aggregators.WeightedAggregationFactory):
  """Takes the mean of updates clipped around the last result.

  With updates x_i and the last result v, 0 at first:

    v <- v + mean((x_i - v) min(1, tau / |x_i - v|))

  Clients clip, so that v is sent to them, and the server sees only the mean.
  However large its update, a client moves the result by its share of tau. An
  update so large that its norm overflows moves nothing. If the mean is not
  finite, such as that of no client, v stays for the next round.

  The created process takes a structure of float tensors, and returns the same
  type. It measures `clipped_clients`, int32, the number of clients with a weight
  and a norm above tau, and `mean`, the measurements of the mean.
  """

  def __init__(
    self,
    clip_norm: float,
    mean: tff.aggregators.WeightedAggregationFactory | None = None,
  ):
    """Initializes the factory.

    Args:
      clip_norm: tau, the largest L2 norm of a difference, over all tensors,
        positive.
      mean: The aggregator of the clipped differences;
        `tff.aggregators.MeanFactory` by default.
    """
    errors.check_range('clip_norm', clip_norm, above=0)
    self._clip_norm = clip_norm
    self._mean = mean or tff.aggregators.MeanFactory()

  def create(
    self, value_type: tff.Type, weight_type: tff.Type
  ) -> tff.templates.AggregationProcess:
    """Creates the process for float tensors with scalar weights."""
    mean = self._mean.create(value_type, weight_type)

    @tff.tensorflow.computation
    def zeros():
      return tf.nest.map_structure(
        lambda spec: tf.zeros(spec.shape, spec.dtype),
        tff.types.type_to_tf_tensor_specs(value_type),
      )

    @tff.tensorflow.computation(value_type, value_type, weight_type)
    def clip(value, center, weight):
      difference = tf.nest.map_structure(tf.subtract, value, center)
      # Finite numbers may have squares that are not.
      norm = tf.linalg.global_norm(tf.nest.flatten(difference))
      bound = tf.cast(self._clip_norm, norm.dtype)
      factor = bound / tf.maximum(norm, bound)
      clipped = tf.nest.map_structure(
        lambda d: tf.where(tf.math.is_finite(norm), d * factor, 0), difference
      )
      # A client that is left out has weight 0.
      exceeds = tf.logical_and(norm > bound, weight > 0)
      return clipped, tf.cast(exceeds, tf.int32)

    @tff.tensorflow.computation(value_type, value_type)
    def move(center, change):
      moved = tf.nest.map_structure(tf.add, center, change)
      is_finite = finite_checks.all_finite(moved)
      kept = tf.nest.map_structure(
        lambda new, old: tf.where(is_finite, new, old), moved, center
      )
      return moved, kept

    @tff.federated_computation
    def init_fn():
      return tff.federated_zip(
        (tff.federated_eval(zeros, tff.SERVER), mean.initialize())
      )

    @tff.federated_computation(
      init_fn.type_signature.result,
      tff.FederatedType(value_type, tff.CLIENTS),
      tff.FederatedType(weight_type, tff.CLIENTS),
    )
    def next_fn(state, value, weight):
      center, mean_state = state
      clipped, exceeds = tff.federated_map(
        clip, (value, tff.federated_broadcast(center), weight)
      )
      output = mean.next(mean_state, clipped, weight)
      moved, kept = tff.federated_map(move, (center, output.result))
      return tff.templates.MeasuredProcessOutput(
        tff.federated_zip((kept, output.state)),
        moved,
        tff.federated_zip(
          collections.OrderedDict(
            clipped_clients=tff.federated_sum(exceeds),
            mean=output.measurements,
          )
        ),
      )

    return tff.templates.AggregationProcess(init_fn, next_fn)
