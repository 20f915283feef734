# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Counts the clients that TFF's own client work leaves out of a round.

TFF's client work gives a client with a non-finite model delta the weight zero
and says nothing. `count_excluded_clients` adds the count to any such process:
a client that has data and nevertheless weighs nothing was left out.
"""

import collections

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


def count_excluded_clients(
  client_work: tff.learning.templates.ClientWorkProcess,
  *,
  sum_factory: tff.aggregators.UnweightedAggregationFactory | None = None,
) -> tff.learning.templates.ClientWorkProcess:
  """Wraps client work so that its measurements count excluded clients.

  Args:
    client_work: A process whose clients report `update_weight` 0 when, and
      only when, they have no data or a non-finite update, as the model delta
      client work of `tff.learning.templates` does.
    sum_factory: Sums the int32 indicators; `tff.aggregators.SumFactory` by
      default.

  Returns:
    A process of the same type but for its state, which also holds that of the
    sum, and its measurements, which also hold `excluded_clients` (int32).
  """
  weights_at_clients, data_at_clients = (
    client_work.next.type_signature.parameter[1:]
  )
  excluded_sum = (sum_factory or tff.aggregators.SumFactory()).create(
    tff.TensorType(np.int32)
  )
  weight_type = client_work.next.type_signature.result.result.member[
    'update_weight'
  ]

  @tff.tensorflow.computation(weight_type, data_at_clients.member)
  def is_excluded(weight, dataset):
    has_data = dataset.take(1).reduce(
      tf.constant(False), lambda _, __: tf.constant(True)
    )
    return tf.cast(tf.logical_and(has_data, tf.equal(weight, 0)), tf.int32)

  @tff.federated_computation
  def init_fn():
    return tff.federated_zip(
      collections.OrderedDict(
        client_work=client_work.initialize(),
        excluded_sum=excluded_sum.initialize(),
      )
    )

  @tff.federated_computation(
    init_fn.type_signature.result, weights_at_clients, data_at_clients
  )
  def next_fn(state, weights, client_data):
    output = client_work.next(state.client_work, weights, client_data)
    excluded = tff.federated_map(
      is_excluded, (output.result.update_weight, client_data)
    )
    excluded_output = excluded_sum.next(state.excluded_sum, excluded)
    return tff.templates.MeasuredProcessOutput(
      tff.federated_zip(
        collections.OrderedDict(
          client_work=output.state, excluded_sum=excluded_output.state
        )
      ),
      output.result,
      tff.federated_zip(
        collections.OrderedDict(
          train=output.measurements.train,
          excluded_clients=excluded_output.result,
        )
      ),
    )

  state_type = init_fn.type_signature.result.member

  @tff.tensorflow.computation(state_type)
  def get_hparams(state):
    return client_work.get_hparams(state['client_work'])

  @tff.tensorflow.computation(state_type, get_hparams.type_signature.result)
  def set_hparams(state, hparams):
    return collections.OrderedDict(
      client_work=client_work.set_hparams(state['client_work'], hparams),
      excluded_sum=state['excluded_sum'],
    )

  return tff.learning.templates.ClientWorkProcess(
    init_fn, next_fn, get_hparams_fn=get_hparams, set_hparams_fn=set_hparams
  )
