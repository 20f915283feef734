# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A process with client states takes them in and gives them back."""

import collections

from fedfish_tff import algorithms
from fedfish_tff.execution import contexts

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_WEIGHTS = tff.TensorType(np.float32, [2])
_CLIENT = tff.TensorType(np.int32)
_DATA = tff.SequenceType(tff.TensorType(np.float32, [None]))


def setUpModule():
  contexts.set_default_context()


def _parts():
  """Computations of a process whose clients count their rounds."""

  @tff.tensorflow.computation
  def initial():
    return tf.zeros(_WEIGHTS.shape)

  @tff.federated_computation
  def initialize():
    return tff.federated_eval(initial, tff.SERVER)

  @tff.tensorflow.computation(_WEIGHTS)
  def initialize_client(state):
    del state
    return tf.constant(0)

  @tff.tensorflow.computation(_CLIENT)
  def count(state):
    return state + 1

  @tff.federated_computation(
    tff.FederatedType(_WEIGHTS, tff.SERVER),
    tff.FederatedType(_CLIENT, tff.CLIENTS),
    tff.FederatedType(_DATA, tff.CLIENTS),
  )
  def next_fn(state, client_states, client_data):
    del client_data
    return algorithms.ClientStateOutput(
      state,
      tff.federated_map(count, client_states),
      tff.federated_sum(client_states),
    )

  @tff.federated_computation(
    tff.FederatedType(_WEIGHTS, tff.SERVER),
    tff.FederatedType(
      collections.OrderedDict(client_state=_CLIENT, data=_DATA),
      tff.CLIENTS,
    ),
  )
  def next_without_client_states(state, clients):
    return tff.learning.templates.LearningProcessOutput(
      state, tff.federated_sum(clients.client_state)
    )

  @tff.tensorflow.computation(_WEIGHTS)
  def get_model_weights(state):
    return state

  @tff.tensorflow.computation(_WEIGHTS, _CLIENT)
  def client_model_weights(state, client_state):
    return state + tf.cast(client_state, tf.float32)

  @tff.tensorflow.computation(_WEIGHTS, _DATA)
  def local_training(weights, data):
    del data
    return weights

  @tff.tensorflow.computation(_WEIGHTS, _DATA)
  def update_is_finite(weights, data):
    del weights, data
    return True

  return {
    'initialize': initialize,
    'initialize_client': initialize_client,
    'next': next_fn,
    'next_without_client_states': next_without_client_states,
    'get_model_weights': get_model_weights,
    'client_model_weights': client_model_weights,
    'local_training': local_training,
    'update_is_finite': update_is_finite,
  }


class ClientStateProcessTest(absltest.TestCase):
  def test_runs(self):
    process = algorithms.ClientStateProcess(**_parts(), extra_passes=1)
    state = process.initialize()
    data = [tf.data.Dataset.from_tensors([0.0])] * 2
    output = process.next(state, [np.int32(3), np.int32(4)], data)
    self.assertEqual(output.client_states, [4, 5])
    self.assertEqual(output.metrics, 7)
    np.testing.assert_array_equal(
      process.client_model_weights(output.state, output.client_states[0]),
      [4, 4],
    )
    self.assertEqual(process.extra_passes, 1)
    self.assertTrue(process.uses_weights)
