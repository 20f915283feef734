# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Parts made for the test are composed to processes, or refused."""

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


def _update(bound, sent, own, dataset):
  """Adds 1 to the client's rounds, and multiplies by what the server sends.

  Three batches are too many. A client without a state is always in its first
  round.
  """
  metrics = bound.unfinalized_metrics(bound.initial_metrics())
  batches = dataset.reduce(0.0, lambda n, _: n + 1.0)
  number = own['rounds'] + 1 if own else 1
  value = sent.state['factor'] * tf.cast(number, tf.float32)
  value *= tf.where(batches > 2, np.nan, 1.0)
  return client_work.ClientUpdate(
    update=collections.OrderedDict(
      delta=tuple(tf.fill(tf.shape(w), value) for w in sent.weights.trainable)
    ),
    weight=batches,
    metrics=metrics,
    own=collections.OrderedDict(rounds=number) if own else (),
  )


def _server_step(take_step, server, aggregate):
  """Subtracts twice the mean, and doubles the factor."""
  step = take_step([2 * m for m in aggregate['delta']])
  server = algorithms.with_trainable(server, step.trainable)
  return step, server._replace(
    state=collections.OrderedDict(
      factor=2 * server.state['factor'], secret=server.state['secret'] + 1
    )
  )


def _compose(**others):
  sgd = tff.learning.optimizers.build_sgdm
  return algorithms.compose(
    _MODEL,
    _update,
    None,
    sgd(0.5),
    **{
      'initialize_server': lambda weights: collections.OrderedDict(
        factor=tf.constant(1.0), secret=tf.constant(0)
      ),
      'select_sent': lambda server: server._replace(
        state=collections.OrderedDict(factor=server.state['factor'])
      ),
      'initialize_client': lambda server: collections.OrderedDict(
        rounds=server.state['secret']
      ),
      'client_weights': lambda server, own: server.weights._replace(
        trainable=tuple(
          w + tf.cast(own['rounds'], tf.float32)
          for w in server.weights.trainable
        )
      ),
      'server_step': _server_step,
      'build_local_training': lambda: client_work.build_local_training(
        _MODEL, sgd(0.1)
      ),
      'extra_passes': 3,
      **others,
    },
  )


def _data(*sizes):
  return [ref.to_dataset(ref.make_batches(n, 0)) for n in sizes]


class ComposeTest(absltest.TestCase):
  def _check_server(self, process, output, shift, secret):
    for weight, start in zip(
      process.get_model_weights(output.state).trainable, ref.initial_weights()
    ):
      np.testing.assert_allclose(weight, start - shift, rtol=1e-5, atol=1e-5)
    self.assertEqual(output.metrics['client_work']['excluded_clients'], 1)
    self.assertEqual(output.metrics['finalizer'], {'update_non_finite': 0})
    self.assertEqual(output.state.client_work['secret'], secret)

  def _check_first_rounds(self, process, data):
    """Checks what does not depend on the state of clients."""
    weights = process.get_model_weights(process.initialize())
    finite = [bool(process.update_is_finite(weights, d)) for d in data]
    self.assertEqual(finite, [True, True, True, False])
    self.assertEqual(process.extra_passes, 3)

  def test_weights_that_are_set_begin_the_server_anew(self):
    weights = tff.learning.models.ModelWeights(ref.initial_weights(9), ())
    for initialize_client in (
      None,
      lambda server: collections.OrderedDict(rounds=server.state['secret']),
    ):
      process = _compose(
        initialize_client=initialize_client,
        initialize_server=lambda weights: collections.OrderedDict(
          factor=tf.reduce_sum(weights.trainable[0]), secret=tf.constant(0)
        ),
        client_weights=lambda server, own: server.weights,
      )
      state = process.set_model_weights(process.initialize(), weights)
      self.assertAlmostEqual(
        state.client_work['factor'], np.sum(weights.trainable[0]), places=5
      )

  def test_rounds_with_client_states(self):
    process = _compose()
    self.assertIsInstance(process, algorithms.ClientStateProcess)
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
      self._check_server(process, output, shift, number)
      self.assertEqual(
        [s['rounds'] for s in states], [number, 1 + number, number, 7]
      )
    own = process.client_model_weights(state, states[1])
    np.testing.assert_allclose(
      own.trainable[1],
      process.get_model_weights(state).trainable[1] + 3,
      rtol=1e-6,
    )
    # A client that comes now for the first time.
    self.assertEqual(process.initialize_client(state)['rounds'], 2)
    self._check_first_rounds(process, data)

  def test_rounds_without_client_states(self):
    process = _compose(initialize_client=None)
    self.assertIsInstance(process, tff.learning.templates.LearningProcess)
    state, data, shift = process.initialize(), _data(4, 8, 8, 12), 0.0
    for number in (1, 2):
      output = process.next(state, data)
      state = output.state
      shift += 2 ** (number - 1)
      self._check_server(process, output, shift, number)
    self._check_first_rounds(process, data)

  def test_parts_that_do_not_fit_are_refused(self):
    with self.assertRaisesRegex(TypeError, 'must make an update'):
      _compose(
        # Of one tensor, while clients' updates are of all.
        select_sent=lambda server: server._replace(
          weights=algorithms.with_trainable(
            server, server.weights.trainable[:1]
          ).weights
        ),
        server_step=lambda take_step, server, aggregate: (
          take_step(server.weights.trainable),
          server,
        ),
      )
    with self.assertRaisesRegex(ValueError, 'same nested structure'):
      _compose(
        initialize_client=lambda server: collections.OrderedDict(
          rounds=tf.constant(0), shifts=tf.constant(0)
        )
      )

  def test_aggregator_without_weights_is_refused(self):
    sgd = tff.learning.optimizers.build_sgdm(0.1)
    private = tff.learning.dp_aggregator(0.1, 5)
    some = {'local_tensors': (False, False, True, True)}
    selector = client_work.build_share_selector(0.5)
    for build, options in (
      (algorithms.build_fed_avg, {}),
      (algorithms.build_fed_nova, {}),
      (algorithms.build_fed_per, some),
      (algorithms.build_fed_per, {**some, 'selector': selector}),
    ):
      with self.assertRaisesRegex(TypeError, 'as_weighted_aggregator makes'):
        build(_MODEL, sgd, sgd, model_aggregator=private, **options)

  def test_aggregator_that_does_not_return_an_update_is_refused(self):
    # A plain mean of <delta, fisher> is no update of the weights.
    sgd = tff.learning.optimizers.build_sgdm(0.1)
    with self.assertRaisesRegex(TypeError, 'must make an update'):
      algorithms.compose(
        _MODEL,
        client_work.build_fisher_delta_update(sgd),
        tff.aggregators.MeanFactory(),
        sgd,
        build_local_training=lambda: client_work.build_local_training(
          _MODEL, sgd
        ),
        initialize_server=algorithms.first_round,
      )
