# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Sums of values that clients send in a few bits per number.

Konečný, McMahan, Yu, Richtárik, Suresh and Bacon, "Federated Learning: Strategies
for Improving Communication Efficiency" (arXiv:1610.05492), section 3, and Suresh,
Yu, Kumar and McMahan, "Distributed Mean Estimation with Limited Communication",
ICML 2017 (arXiv:1611.00429), section 2.2. Encoding, packing of bits and decoding
are those of `tff.aggregators.EncodedSumFactory`.
"""

import collections
from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import logging

from fedfish_tff import errors

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# Odd 32-bit constants that separate the streams of a seed, as in FedFish's
# draws.
_ROUND_STRIDE = -1640531535
_TENSOR_STRIDE = 374761393

# The bits of an int32 that TFF packs, and the bytes of a tensor's two ends.
_PACKED_BITS = 28
_BYTES_OF_ENDS = 8


class QuantizedSumFactory(tff.aggregators.UnweightedAggregationFactory):
  """Sums values with each tensor rounded to 2^bits levels.

  The levels of a client's tensor are evenly spaced between its smallest and its
  largest number, which it sends too. With a seed a number is rounded up or down
  to one of the two adjacent levels, with probabilities that keep its mean
  (stochastic rounding). Without a seed it is rounded to the nearest level,
  which is biased. Draws are a function of (seed, round, the bits of the
  client's value), so that a run is repeatable; TFF's own stochastic rounding is
  not.

  The created process takes a structure of float32 tensors and returns the same
  type. It has no measurements.
  """

  def __init__(self, bits: int, *, threshold: int = 0, seed: int | None = None):
    """Initializes the factory.

    Args:
      bits: The number of bits per number, 1 to 16.
      threshold: The largest number of elements, 0 or more, of a tensor that is
        sent as it is.
      seed: The seed of stochastic rounding; None for the nearest level.
    """
    errors.check_integer('bits', bits, least=1, most=16)
    errors.check_integer('threshold', threshold, least=0)
    self._bits = bits
    self._threshold = threshold
    self._seed = seed

  def create(self, value_type: tff.Type) -> tff.templates.AggregationProcess:
    """Creates the process for a structure of float32 tensors."""
    factory = tff.aggregators.EncodedSumFactory.quantize_above_threshold(
      self._bits, self._threshold, stochastic=False
    )
    with _without_memory_hints():
      nearest = factory.create(value_type)
    if self._seed is None:
      return nearest

    @tff.tensorflow.computation(value_type, np.int32)
    def round_stochastically(value, round_number):
      tensors = tf.nest.flatten(value)
      bits = tf.add_n([tf.reduce_sum(tf.bitcast(t, tf.int32)) for t in tensors])
      rounded = [
        self._round(
          t,
          tf.stack(
            [
              self._seed + round_number * _ROUND_STRIDE,
              bits + tf.constant(i, tf.int32) * _TENSOR_STRIDE,
            ]
          ),
        )
        if self._is_quantized(t.shape)
        else t
        for i, t in enumerate(tensors)
      ]
      return tf.nest.pack_sequence_as(value, rounded)

    @tff.tensorflow.computation(np.int32)
    def increment(number):
      return number + 1

    @tff.federated_computation
    def init_fn():
      return tff.federated_zip(
        collections.OrderedDict(
          nearest=nearest.initialize(),
          round_number=tff.federated_value(1, tff.SERVER),
        )
      )

    @tff.federated_computation(
      init_fn.type_signature.result, tff.FederatedType(value_type, tff.CLIENTS)
    )
    def next_fn(state, value):
      rounded = tff.federated_map(
        round_stochastically,
        (value, tff.federated_broadcast(state['round_number'])),
      )
      # TFF rounds a level to itself, so rounded numbers stay.
      output = nearest.next(state['nearest'], rounded)
      return tff.templates.MeasuredProcessOutput(
        tff.federated_zip(
          collections.OrderedDict(
            nearest=output.state,
            round_number=tff.federated_map(increment, state['round_number']),
          )
        ),
        output.result,
        output.measurements,
      )

    return tff.templates.AggregationProcess(init_fn, next_fn)

  def message_bytes(self, value_type: tff.Type) -> int:
    """Returns the number of bytes in which a client sends a value."""
    total = 0
    for tensor in tff.structure.flatten(tff.to_type(value_type)):
      size = tf.TensorShape(tensor.shape).num_elements()
      if self._is_quantized(tensor.shape):
        total += 4 * -(-size * self._bits // _PACKED_BITS) + _BYTES_OF_ENDS
      else:
        total += 4 * size
    return total

  def _is_quantized(self, shape: tf.TensorShape | tuple[int, ...]) -> bool:
    return tf.TensorShape(shape).num_elements() > self._threshold

  def _round(self, tensor: tf.Tensor, stream: tf.Tensor) -> tf.Tensor:
    """Returns a tensor with each number at one of its adjacent levels."""
    low, high = tf.reduce_min(tensor), tf.reduce_max(tensor)
    last = float(2**self._bits - 1)
    place = tf.math.divide_no_nan(tensor - low, high - low) * last
    below = tf.floor(place)
    up = tf.random.stateless_uniform(tensor.shape, stream) < place - below
    level = below + tf.cast(up, tensor.dtype)
    return level / last * (high - low) + low


def measure_payload(
  factory: tff.aggregators.WeightedAggregationFactory,
  message_bytes: Callable[[tff.Type], int],
) -> tff.aggregators.WeightedAggregationFactory:
  """Adds the bytes that a cohort sends to an aggregator's measurements.

  Args:
    factory: The aggregator to measure.
    message_bytes: A function from the type of a client's value to the bytes in
      which it is sent.

  Returns:
    An aggregator with a measurement `payload_bytes`, int64: the bytes of all
    clients with a positive weight.
  """

  def measure(value, weight):
    size = message_bytes(value.type_signature.member)

    @tff.tensorflow.computation(weight.type_signature.member)
    def count(weight):
      return size * tf.cast(weight > 0, tf.int64)

    return collections.OrderedDict(
      payload_bytes=tff.federated_sum(tff.federated_map(count, weight))
    )

  return tff.aggregators.add_measurements(
    factory, client_measurement_fn=measure
  )


@contextlib.contextmanager
def _without_memory_hints() -> Iterator[None]:
  """Drops a hint of TFF's encoders, which they log many times per tensor."""

  def keep(record):
    return 'can temporarily allocate extra memory' not in record.getMessage()

  logging.getLogger().addFilter(keep)
  try:
    yield
  finally:
    logging.getLogger().removeFilter(keep)
