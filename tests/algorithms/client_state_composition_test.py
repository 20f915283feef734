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
  """Adds 1 to the client's rounds, and multiplies by what the server sends.

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
  )
  return update, collections.OrderedDict(rounds=client_state['rounds'] + 1)


def _server_step(take_step, model, mean):
  """Subtracts twice the mean, and doubles the factor."""
  step = take_step([2 * m for m in tf.nest.flatten(mean)])
  return step, collections.OrderedDict(
    weights=tff.learning.models.ModelWeights(
      step.trainable, model['weights'].non_trainable
    ),
    factor=2 * model['factor'],
    secret=model['secret'] + 1,
  )


def _compose(**others):
  sgd = tff.learning.optimizers.build_sgdm
  return algorithms.compose_client_state_process(
    _MODEL,
    _update,
    None,
    sgd(0.5),
    **{
      'initial_model': lambda weights: collections.OrderedDict(
        weights=weights, factor=tf.constant(1.0), secret=tf.constant(0)
      ),
      'select_sent': lambda model: collections.OrderedDict(
        weights=model['weights'], factor=model['factor']
      ),
      'initialize_client': lambda model: collections.OrderedDict(
        rounds=tf.constant(0)
      ),
      'get_model_weights': lambda model: model['weights'],
      'client_model_weights': lambda model, client_state: (
        tff.learning.models.ModelWeights(
          tuple(
            w + tf.cast(client_state['rounds'], tf.float32)
            for w in model['weights'].trainable
          ),
          model['weights'].non_trainable,
        )
      ),
      'server_step': _server_step,
      'local_training': client_work.build_local_training(_MODEL, sgd(0.1)),
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
      self.assertEqual(output.metrics['finalizer'], {'update_non_finite': 0})
      self.assertEqual(state['model']['secret'], number)
    own = process.client_model_weights(state, states[1])
    np.testing.assert_allclose(
      own.trainable[1],
      process.get_model_weights(state).trainable[1] + 3,
      rtol=1e-6,
    )
    self.assertEqual(process.extra_passes, 3)
    finite = [
      bool(process.update_is_finite(process.get_model_weights(state), d))
      for d in data
    ]
    self.assertEqual(finite, [True, True, True, False])

  def test_parts_that_do_not_fit_are_refused(self):
    with self.assertRaisesRegex(TypeError, 'must make an update'):
      _compose(get_stepped=lambda model: model['factor'])
    with self.assertRaisesRegex(ValueError, 'same nested structure'):
      _compose(
        initialize_client=lambda model: collections.OrderedDict(
          rounds=tf.constant(0), shifts=tf.constant(0)
        )
      )
