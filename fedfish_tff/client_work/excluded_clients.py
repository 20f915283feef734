# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Counts the clients that are left out of a round of TFF's own client work.

TFF's client work gives a client with a non-finite model delta the weight zero
and says nothing. `count_excluded_clients` adds the count to any such process:
a client that has data and nevertheless weighs nothing was left out. It also
leaves out those whose delta is finite and overflows times its weight, which
TFF's does not: they would void the round of all clients.
"""

import collections

from fedfish_tff.client_work import client_work_process
from fedfish_tff.client_work import local_training

import tensorflow as tf
import tensorflow_federated as tff


def count_excluded_clients(
  client_work: tff.learning.templates.ClientWorkProcess,
) -> tff.learning.templates.ClientWorkProcess:
  """Wraps client work so that its measurements count excluded clients.

  Args:
    client_work: A process whose clients report `update_weight` 0 when, and
      only when, they have no data or a non-finite update, as the model delta
      client work of `tff.learning.templates` does.

  Returns:
    A process of the same type but for its measurements, which also hold
    `excluded_clients` (int32). The update and the weight of a client whose
    weighted update overflows are zero.
  """
  weights_at_clients, data_at_clients = (
    client_work.next.type_signature.parameter[1:]
  )
  result_type = client_work.next.type_signature.result.result.member

  @tff.tensorflow.computation(result_type, data_at_clients.member)
  def leave_out(result, dataset):
    # Of the largest only: a product of the model's size takes longer.
    # The maximum of no elements is -inf.
    largest = [
      tf.maximum(tf.reduce_max(tf.abs(t)), 0)
      for t in tf.nest.flatten(result.update)
    ]
    finite = local_training.all_finite(
      client_work_process.weigh_update(largest, result.update_weight)
    )
    # Not tf.where, which would copy the update.
    kept = tf.cond(
      finite,
      lambda: tf.nest.map_structure(tf.identity, result),
      lambda: tf.nest.map_structure(tf.zeros_like, result),
    )
    has_data = dataset.take(1).reduce(
      tf.constant(False), lambda _, __: tf.constant(True)
    )
    excluded = tf.logical_and(has_data, tf.equal(kept.update_weight, 0))
    return kept, tf.cast(excluded, tf.int32)

  @tff.federated_computation(
    client_work.next.type_signature.parameter[0],
    weights_at_clients,
    data_at_clients,
  )
  def next_fn(state, weights, client_data):
    output = client_work.next(state, weights, client_data)
    result, excluded = tff.federated_map(
      leave_out, (output.result, client_data)
    )
    return tff.templates.MeasuredProcessOutput(
      output.state,
      result,
      tff.federated_zip(
        collections.OrderedDict(
          train=output.measurements.train,
          excluded_clients=tff.federated_sum(excluded),
        )
      ),
    )

  return tff.learning.templates.ClientWorkProcess(
    client_work.initialize,
    next_fn,
    get_hparams_fn=client_work.get_hparams,
    set_hparams_fn=client_work.set_hparams,
  )
