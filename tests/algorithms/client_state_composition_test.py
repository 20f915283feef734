# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Parts made for the test are composed to a process with client states."""

import collections

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff.execution import contexts
from tests import numpy_reference as ref

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_MODEL = ref.create_functional_model()


def setUpModule():
  contexts.set_default_context()


def _update(bound, model, client_state, dataset):
  """Of 1 more than the client's rounds, times what the server sends.

  Three batches are too many.
  """
  metrics = bound.unfinalized_metrics(bound.initial_metrics())
  batches = dataset.reduce(0.0, lambda n, _: n + 1.0)
  value = model['factor'] * tf.cast(client_state['rounds'] + 1, tf.float32)
  value *= tf.where(batches > 2, np.nan, 1.0)
  update = client_work.ClientUpdate(
    update=tuple(
      tf.fill(tf.shape(w), value)
      for w in tf.nest.flatten(model['weights'].trainable)
    ),
    weight=batches,
    metrics=metrics,
    initial_metrics=metrics,
  )
  return update, collections.OrderedDict(rounds=client_state['rounds'] + 1)


def _build_finalizer(model_type):
  """Subtracts the mean, doubles the factor and counts to itself."""

  @tff.tensorflow.computation(
    np.int32, model_type, model_type['weights'].trainable
  )
  def step(count, model, mean):
    weights = model['weights']
    trainable = tuple(w - m for w, m in zip(weights.trainable, mean))
    return collections.OrderedDict(
      count=count + 1,
      model=collections.OrderedDict(
        weights=tff.learning.models.ModelWeights(
          trainable, weights.non_trainable
        ),
        factor=2 * model['factor'],
      ),
    )

  @tff.federated_computation
  def initialize():
    return tff.federated_value(0, tff.SERVER)

  @tff.federated_computation(
    *(tff.FederatedType(t, tff.SERVER) for t in step.type_signature.parameter)
  )
  def next_fn(count, model, mean):
    output = tff.federated_map(step, (count, model, mean))
    return tff.templates.MeasuredProcessOutput(
      output.count, output.model, output.count
    )

  return tff.templates.MeasuredProcess(initialize, next_fn)


def _compose(**others):
  @tff.tensorflow.computation
  def initial_model():
    return collections.OrderedDict(
      weights=tff.learning.models.ModelWeights(ref.initial_weights(), ()),
      factor=tf.constant(1.0),
    )

  model_type = initial_model.type_signature.result

  @tff.tensorflow.computation(model_type)
  def initialize_client(model):
    del model
    return collections.OrderedDict(rounds=tf.constant(0))

  client_type = initialize_client.type_signature.result

  @tff.tensorflow.computation(model_type)
  def get_model_weights(model):
    return model['weights']

  @tff.tensorflow.computation(model_type, client_type)
  def client_model_weights(model, client_state):
    weights = model['weights']
    return tff.learning.models.ModelWeights(
      tuple(
        w + tf.cast(client_state['rounds'], tf.float32)
        for w in weights.trainable
      ),
      weights.non_trainable,
    )

  work = client_work.build_client_state_work(
    _MODEL, _update, model_type=model_type, client_type=client_type
  )
  result_type = work.type_signature.result.result
  sgd = tff.learning.optimizers.build_sgdm(0.1)
  return algorithms.compose_client_state_process(
    _MODEL,
    work,
    tff.aggregators.MeanFactory().create(
      result_type.update, result_type.update_weight
    ),
    _build_finalizer(model_type),
    **{
      'initial_model': initial_model,
      'initialize_client': initialize_client,
      'get_model_weights': get_model_weights,
      'client_model_weights': client_model_weights,
      'local_training': client_work.build_local_training(_MODEL, sgd),
      'update_is_finite': client_work.build_update_is_finite(
        _MODEL, client_work.build_model_delta_update(sgd)
      ),
      'extra_passes': 3,
      **others,
    },
  )


def _data(*sizes):
  return [ref.to_dataset(ref.make_batches(n, 0)) for n in sizes]


class ComposeClientStateProcessTest(absltest.TestCase):
  def test_rounds(self):
    process = _compose()
    state = process.initialize()
    new = process.initialize_client(state)
    # The second and the third client have twice the weight; the last is left
    # out, whatever its state was.
    states = [new, {'rounds': np.int32(1)}, new, {'rounds': np.int32(7)}]
    data = _data(4, 8, 8, 12)
    shift = 0.0
    for number, values in enumerate(([1, 2, 1], [4, 6, 4]), start=1):
      output = process.next(state, states, data)
      bare = process.next_without_client_states(
        state,
        [
          collections.OrderedDict(client_state=s, data=d)
          for s, d in zip(states, data)
        ],
      )
      for a, b in zip(
        tf.nest.flatten((bare.state, bare.metrics)),
        tf.nest.flatten((output.state, output.metrics)),
        strict=True,
      ):
        np.testing.assert_array_equal(a, b)
      state, states = output.state, output.client_states
      shift += np.average(values, weights=[1, 2, 2])
      for weight, start in zip(
        process.get_model_weights(state).trainable, ref.initial_weights()
      ):
        np.testing.assert_allclose(weight, start - shift, rtol=1e-5, atol=1e-5)
      self.assertEqual(
        [s['rounds'] for s in states], [number, 1 + number, number, 7]
      )
      self.assertEqual(output.metrics['client_work']['excluded_clients'], 1)
      self.assertEqual(output.metrics['finalizer'], number)
    own = process.client_model_weights(state, states[1])
    np.testing.assert_allclose(
      own.trainable[1],
      process.get_model_weights(state).trainable[1] + 3,
      rtol=1e-6,
    )
    self.assertEqual(process.extra_passes, 3)

  def test_parts_that_do_not_fit_are_refused(self):
    @tff.tensorflow.computation(np.float32)
    def initialize_client(model):
      return collections.OrderedDict(rounds=tf.cast(model, tf.int32))

    with self.assertRaises(TypeError):
      _compose(initialize_client=initialize_client)
