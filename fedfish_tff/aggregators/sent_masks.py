# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Aggregation that records which parts of an update the cohort has sent.

The server must know which tensors (or coordinates) some client sent, so that it
leaves the others unchanged. A simulation also measures the bytes that clients
actually send. Both follow from one sum of the masks, around any aggregator.
"""

import collections
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from fedfish_tff import errors
from fedfish_tff.aggregators import tensor_names as tensor_names_lib

import tensorflow as tf
import tensorflow_federated as tff

_MASK = 'mask'


class SentPartsFactory(tff.aggregators.WeightedAggregationFactory):
  """Aggregates <update=U, mask=M> to <delta=T, any_sent=M>.

  <delta=T> is the inner factory's aggregate of U. `any_sent` is true where the
  mask of a client with a positive weight is. The measurements are those of the
  inner factory and

  * `sent`: for each tensor, by its name, the share of the contributing clients
    that sent it (for coordinates, their mean share), float32;
  * `payload_bytes`: the bytes that the cohort has actually sent, int64: for
    every contributing client, the selected parts of each structure of U except
    its mask, and the mask's bits, rounded up to bytes.
  """

  def __init__(
    self,
    inner: tff.aggregators.WeightedAggregationFactory,
    *,
    mask_bits: int,
    tensor_names: Sequence[str] | None = None,
  ):
    """Initializes the factory.

    Args:
      inner: The aggregator of U, with clients' weights.
      mask_bits: The number of bits in which a client encodes its mask, such as
        that of `client_work.Selector.mask_bits`.
      tensor_names: A name for each tensor; by position and shape by default.
    """
    errors.check_integer('mask_bits', mask_bits, least=0)
    self._inner = inner
    self._mask_bytes = -(-mask_bits // 8)
    self._tensor_names = tensor_names

  def create(
    self,
    value_type: tff.types.StructType,
    weight_type: tff.types.TensorType,
  ) -> tff.templates.AggregationProcess:
    """Creates the process for <update=U, mask=M> with float scalar weights.

    M is a structure of bools. U has a structure `delta` of as many tensors.
    """
    update_type = value_type['update']
    mask_type = value_type[_MASK]
    tensor_types = tff.structure.flatten(update_type['delta'])
    names = tensor_names_lib.name_tensors(tensor_types, self._tensor_names)
    part_bytes = _count_part_bytes(update_type, tensor_types, mask_type)
    mask_bytes = self._mask_bytes
    inner = self._inner.create(update_type, weight_type)

    @tff.tensorflow.computation(mask_type, weight_type)
    def count(mask, weight):
      contributes = weight > 0
      return collections.OrderedDict(
        masks=tf.nest.map_structure(
          lambda m: tf.cast(tf.logical_and(m, contributes), tf.int32), mask
        ),
        clients=tf.cast(contributes, tf.int32),
      )

    count_type = count.type_signature.result

    @tff.tensorflow.computation(count_type)
    def find_sent(counts):
      return tf.nest.map_structure(lambda c: c > 0, counts['masks'])

    @tff.tensorflow.computation(
      inner.next.type_signature.result.measurements.member, count_type
    )
    def measure(inner_measurements, counts):
      measured = (
        collections.OrderedDict(inner_measurements)
        if isinstance(inner_measurements, Mapping)
        else collections.OrderedDict(mean=inner_measurements)
      )
      masks = tf.nest.flatten(counts['masks'])
      clients = counts['clients']
      measured['sent'] = collections.OrderedDict(
        (
          name,
          tf.math.divide_no_nan(
            tf.reduce_mean(tf.cast(m, tf.float32)),
            tf.cast(clients, tf.float32),
          ),
        )
        for name, m in zip(names, masks)
      )
      payload = mask_bytes * tf.cast(clients, tf.int64)
      for m, size in zip(masks, part_bytes):
        payload += size * tf.reduce_sum(tf.cast(m, tf.int64))
      measured['payload_bytes'] = payload
      return measured

    @tff.federated_computation(
      inner.initialize.type_signature.result,
      tff.FederatedType(value_type, tff.CLIENTS),
      tff.FederatedType(weight_type, tff.CLIENTS),
    )
    def next_fn(state, value, weight):
      output = inner.next(state, value['update'], weight)
      counts = tff.federated_sum(
        tff.federated_map(count, (value[_MASK], weight))
      )
      return tff.templates.MeasuredProcessOutput(
        output.state,
        tff.federated_zip(
          collections.OrderedDict(
            delta=output.result['delta'],
            any_sent=tff.federated_map(find_sent, counts),
          )
        ),
        tff.federated_map(measure, (output.measurements, counts)),
      )

    return tff.templates.AggregationProcess(inner.initialize, next_fn)


def _count_part_bytes(
  update_type: Any,
  tensor_types: Sequence[tff.TensorType],
  mask_type: Any,
) -> list[int]:
  """Returns, for each tensor, the bytes that one true of its mask selects."""
  structures = [
    name for name in tff.structure.name_list(update_type) if name != _MASK
  ]
  sizes = []
  for tensor, mask in zip(tensor_types, tff.structure.flatten(mask_type)):
    elements = tf.TensorShape(tensor.shape).num_elements()
    covered = elements // tf.TensorShape(mask.shape).num_elements()
    itemsize = tf.as_dtype(tensor.dtype).size
    sizes.append(len(structures) * covered * itemsize)
  return sizes
