# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A process with client states has computations that fit together."""

import collections

from fedfish_tff import algorithms
from fedfish_tff.execution import contexts

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_WEIGHTS = tff.TensorType(np.float32, [2])
_DATA = tff.SequenceType(tff.TensorType(np.float32, [None]))


def setUpModule():
  contexts.set_default_context()


def _parts(weights_type=_WEIGHTS, client_dtype=np.int32):
  """Computations of a process whose clients count their rounds."""
  client_type = tff.TensorType(client_dtype)

  @tff.tensorflow.computation
  def initial():
    return tf.zeros(weights_type.shape)

  @tff.federated_computation
  def initialize():
    return tff.federated_eval(initial, tff.SERVER)

  @tff.tensorflow.computation(weights_type)
  def initialize_client(state):
    del state
    return tf.zeros([], client_dtype)

  @tff.tensorflow.computation(client_type)
  def count(state):
    return state + 1

  @tff.federated_computation(
    tff.FederatedType(weights_type, tff.SERVER),
    tff.FederatedType(client_type, tff.CLIENTS),
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
    tff.FederatedType(weights_type, tff.SERVER),
    tff.FederatedType(
      collections.OrderedDict(client_state=client_type, data=_DATA),
      tff.CLIENTS,
    ),
  )
  def next_without_client_states(state, clients):
    return tff.learning.templates.LearningProcessOutput(
      state, tff.federated_sum(clients.client_state)
    )

  @tff.tensorflow.computation(weights_type)
  def get_model_weights(state):
    return state

  @tff.tensorflow.computation(weights_type, client_type)
  def client_model_weights(state, client_state):
    return state + tf.cast(client_state, tf.float32)

  @tff.tensorflow.computation(weights_type, _DATA)
  def local_training(weights, data):
    del data
    return weights

  @tff.tensorflow.computation(weights_type, _DATA)
  def update_is_finite(weights, data):
    del weights, data
    return True

  return {
    'initialize': initialize,
    'initialize_client': initialize_client,
    'next_fn': next_fn,
    'next_without_client_states': next_without_client_states,
    'get_model_weights': get_model_weights,
    'client_model_weights': client_model_weights,
    'local_training': local_training,
    'update_is_finite': update_is_finite,
  }


class ClientStateProcessTest(parameterized.TestCase):
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

  @parameterized.parameters(
    ('initialize_client', 'initialize_client takes'),
    ('next_fn', 'next takes'),
    ('next_without_client_states', 'next_without_client_states takes'),
    ('get_model_weights', 'get_model_weights takes'),
    ('client_model_weights', 'client_model_weights takes'),
    ('local_training', 'local_training takes'),
    ('update_is_finite', 'update_is_finite takes'),
  )
  def test_refuses_a_part_of_other_weights(self, name, message):
    other = _parts(tff.TensorType(np.float32, [3]))
    with self.assertRaisesRegex(TypeError, f'{message} .* was expected'):
      algorithms.ClientStateProcess(**(_parts() | {name: other[name]}))

  @parameterized.parameters(
    'next_fn', 'next_without_client_states', 'client_model_weights'
  )
  def test_refuses_a_part_of_other_client_states(self, name):
    other = _parts(client_dtype=np.int64)
    with self.assertRaisesRegex(TypeError, 'takes .*int64.* was expected'):
      algorithms.ClientStateProcess(**(_parts() | {name: other[name]}))
