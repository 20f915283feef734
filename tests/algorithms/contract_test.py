# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What every algorithm that trains a model must do: one test runs all of them."""

from collections.abc import Callable
from collections.abc import Mapping
import functools

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff.execution import contexts
from tests import closed_form_builders
from tests import numpy_reference as ref

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff


def _sgd(rate):
  return tff.learning.optimizers.build_sgdm(rate)


def _adam():
  # Its momentum moves weights even where an update is zero.
  return tff.learning.optimizers.build_adam(0.05)


# A new algorithm is entered here; a test below finds out if it is not.
_BUILDERS: Mapping[str, Callable[..., algorithms.FederatedProcess]] = {
  'build_fed_avg': lambda model: algorithms.build_fed_avg(
    model, _sgd(0.1), _adam()
  ),
  'build_fed_fish': lambda model: algorithms.build_fed_fish(
    model, _sgd(0.1), _adam()
  ),
  'build_fed_nova': lambda model: algorithms.build_fed_nova(
    model, _sgd(0.1), _adam()
  ),
  'build_fed_prox': lambda model: algorithms.build_fed_prox(
    model, _sgd(0.1), _adam(), proximal_strength=0.5
  ),
  'build_fed_sgd': lambda model: algorithms.build_fed_sgd(model, _adam()),
  'build_hf_maml': lambda model: algorithms.build_hf_maml(
    model,
    _sgd(0.1),
    _adam(),
    # Or else metrics are of a part of the examples.
    meta_batches=client_work.MetaBatches.SHARED,
  ),
  'build_partial_exchange': lambda model: algorithms.build_partial_exchange(
    model,
    _sgd(0.1),
    _adam(),
    selector=client_work.build_share_selector(0.5),
  ),
  'build_mime_lite': lambda model: algorithms.build_mime_lite(
    model, tff.learning.optimizers.build_sgdm(0.1, momentum=0.9), _adam()
  ),
}
# Their own tests have diverged and empty clients too, or they are as others.
_TESTED_APART = (
  'build_fed_prox',
  'build_fed_sgd',
  'build_hf_maml',
  'build_mime_lite',
)
# Those whose clients keep a state, which are no learning processes.
_STATEFUL_BUILDERS: Mapping[
  str, Callable[..., algorithms.ClientStateProcess]
] = {
  'build_ditto': lambda model: algorithms.build_ditto(
    model, _sgd(0.1), _adam(), personal_strength=0.5
  ),
  'build_fed_dyn': lambda model: algorithms.build_fed_dyn(
    model, _sgd(0.1), _adam(), num_clients=4, regularization=0.1
  ),
  'build_fed_per': lambda model: algorithms.build_fed_per(
    model, _sgd(0.1), _adam(), local_tensors=_HEAD
  ),
  'build_fed_rep': lambda model: algorithms.build_fed_rep(
    model, _sgd(0.1), _adam(), local_tensors=_HEAD, head_epochs=1
  ),
  'build_lg_fed_avg': lambda model: algorithms.build_lg_fed_avg(
    model, _sgd(0.1), _adam(), global_tensors=_HEAD
  ),
  'build_partially_local': lambda model: algorithms.build_partially_local(
    model,
    client_work.build_model_delta_update(_sgd(0.1)),
    _adam(),
    local_tensors=_HEAD,
    local_training=client_work.build_local_training(model, _sgd(0.1)),
  ),
  'build_scaffold': lambda model: algorithms.build_scaffold(
    model, 0.1, _adam(), num_clients=4
  ),
  'build_stateful_partial_exchange': lambda model: (
    algorithms.build_stateful_partial_exchange(
      model, _sgd(0.1), selector=client_work.build_share_selector(0.5)
    )
  ),
}
_HEAD = (False, False, True, True)
# For one model of their own only.
_OF_LINEAR_REPRESENTATIONS = ('build_linear_fed_rep', 'build_method_of_moments')
# Of a function that creates models, and with tests of all this.
_OF_MODELS_OF_ANY_WIDTH = ('build_fed_ma',)
_MODELS = {
  'functional': ref.create_functional_model(),
  'variable': ref.create_variable_model,
}
_CLIENTS = [ref.make_batches(n, seed) for seed, n in enumerate((6, 9))]


def setUpModule():
  contexts.set_default_context()


def _next(process, state, clients):
  return process.next(state, [ref.to_dataset(c) for c in clients])


class ContractTest(parameterized.TestCase):
  def test_every_algorithm_is_entered(self):
    exported = [n for n in dir(algorithms) if n.startswith('build_')]
    self.assertCountEqual(
      [
        *_BUILDERS,
        *_STATEFUL_BUILDERS,
        *closed_form_builders.BUILDERS,
        *_OF_LINEAR_REPRESENTATIONS,
        *_OF_MODELS_OF_ANY_WIDTH,
      ],
      exported,
    )

  @parameterized.parameters(b for b in _BUILDERS if b not in _TESTED_APART)
  def test_contract(self, builder):
    self._check_contract(builder, 'functional')

  @parameterized.parameters(*_TESTED_APART)
  @pytest.mark.thorough
  def test_contract_of_those_that_are_tested_apart(self, builder):
    self._check_contract(builder, 'functional')

  @pytest.mark.thorough
  def test_contract_of_a_variable_model(self):
    # One will do: algorithms see models as functions of weights.
    self._check_contract('build_partial_exchange', 'variable')

  def _check_contract(self, builder, kind):
    process = _BUILDERS[builder](_MODELS[kind])
    with self.subTest('is a learning process with its local training'):
      self.assertIsInstance(process, tff.learning.templates.LearningProcess)
      state_type, data_type = process.next.type_signature.parameter
      self.assertEqual(process.initialize.type_signature.result, state_type)
      weights_type = process.get_model_weights.type_signature.result
      self.assertEqual(
        process.local_training.type_signature.parameter[1], data_type.member
      )
      self.assertTrue(
        weights_type.is_assignable_from(
          process.local_training.type_signature.result
        )
      )
      self.assertGreaterEqual(process.extra_passes, 0)

    state = process.initialize()
    weights = process.get_model_weights(state)
    output = _next(process, state, _CLIENTS)
    trained = process.get_model_weights(output.state)
    with self.subTest('training changes weights and reports metrics'):
      changes = [
        np.abs(a - b).max()
        for a, b in zip(trained.trainable, weights.trainable)
      ]
      self.assertGreater(max(changes), 0)
      measured = output.metrics['client_work']
      self.assertEqual(measured['excluded_clients'], 0)
      self.assertEqual(measured['train']['num_examples'], 15)
      self.assertTrue(np.isfinite(measured['train']['loss']))

    with self.subTest('a round repeats bit for bit with an empty client'):
      with_empty = _next(process, state, [*_CLIENTS, []])
      self.assertEqual(with_empty.metrics['client_work']['excluded_clients'], 0)
      for a, b in zip(
        process.get_model_weights(with_empty.state).trainable,
        trained.trainable,
      ):
        np.testing.assert_array_equal(a, b)

    with self.subTest('a diverged client is left out, counted and told'):
      x, y = _CLIENTS[0][0]
      broken = [(np.full_like(x, np.nan), y)]
      with_broken = _next(process, state, [*_CLIENTS, broken])
      self.assertEqual(
        with_broken.metrics['client_work']['excluded_clients'], 1
      )
      for a, b in zip(
        process.get_model_weights(with_broken.state).trainable,
        trained.trainable,
      ):
        np.testing.assert_array_equal(a, b)
      told = [
        bool(process.update_is_finite(weights, ref.to_dataset(c)))
        for c in (*_CLIENTS, broken, [])
      ]
      self.assertEqual(told, [True, True, False, True])

    with self.subTest('a round without any update keeps everything'):
      nobody = _next(process, output.state, [broken, []])
      self.assertEqual(nobody.metrics['client_work']['excluded_clients'], 1)
      for a, b in zip(
        process.get_model_weights(nobody.state).trainable, trained.trainable
      ):
        np.testing.assert_array_equal(a, b)
      for a, b in zip(
        tf.nest.flatten(nobody.state.finalizer),
        tf.nest.flatten(output.state.finalizer),
      ):
        np.testing.assert_array_equal(a, b)

    with self.subTest('weights can be set and are where training goes on'):
      start = ref.initial_weights(9)
      if kind == 'variable':
        start = list(start)
      empty = type(weights.non_trainable)()
      moved = process.set_model_weights(
        state, tff.learning.models.ModelWeights(start, empty)
      )
      for a, b in zip(process.get_model_weights(moved).trainable, start):
        np.testing.assert_array_equal(a, b)

  @parameterized.parameters(
    *((builder, 'functional') for builder in _STATEFUL_BUILDERS),
    ('build_fed_rep', 'variable'),
  )
  @pytest.mark.thorough
  def test_contract_with_client_states(self, builder, kind):
    self._check_contract_with_client_states(builder, kind)

  @parameterized.parameters(*_STATEFUL_BUILDERS)
  @pytest.mark.slow
  def test_contract_with_client_states_of_variable_models(self, builder):
    self._check_contract_with_client_states(builder, 'variable')

  def _check_contract_with_client_states(self, builder, kind):
    process = _STATEFUL_BUILDERS[builder](_MODELS[kind])
    state = process.initialize()
    new = process.initialize_client(state)
    x, y = _CLIENTS[0][0]
    broken = [(np.full_like(x, np.nan), y)]
    # FedRep has one for each part of the model.
    epochs = 2 if builder == 'build_fed_rep' else 1

    def run(*clients):
      return process.next(
        state,
        [new] * len(clients),
        [ref.to_dataset(c, epochs=epochs) for c in clients],
      )

    def assert_same(one, other):
      for a, b in zip(
        tf.nest.flatten(one), tf.nest.flatten(other), strict=True
      ):
        np.testing.assert_array_equal(a, b)

    output = run(*_CLIENTS)
    trained = process.get_model_weights(output.state)
    with self.subTest('a new client has the model of the server'):
      weights = process.get_model_weights(state)
      assert_same(
        process.client_model_weights(state, new).trainable, weights.trainable
      )

    with self.subTest('training changes weights and reports metrics'):
      changes = [
        np.abs(a - b).max()
        for a, b in zip(trained.trainable, weights.trainable)
      ]
      self.assertGreater(max(changes), 0)
      measured = output.metrics['client_work']
      self.assertEqual(measured['excluded_clients'], 0)
      self.assertEqual(measured['train']['num_examples'], 15 * epochs)

    with self.subTest('neither empty nor diverged clients change anything'):
      others = run(*_CLIENTS, [], broken)
      self.assertEqual(others.metrics['client_work']['excluded_clients'], 1)
      assert_same(
        process.get_model_weights(others.state).trainable, trained.trainable
      )
      assert_same(others.client_states[:2], output.client_states)
      assert_same(others.client_states[3], new)
      told = [
        bool(
          process.update_is_finite(weights, ref.to_dataset(c, epochs=epochs))
        )
        for c in (*_CLIENTS, broken, [])
      ]
      self.assertEqual(told, [True, True, False, True])

  def test_optimizers_that_are_not_tffs_are_refused(self):
    self._check_that_keras_optimizers_are_refused('functional')

  @pytest.mark.thorough
  def test_they_are_refused_with_variable_models(self):
    self._check_that_keras_optimizers_are_refused('variable')

  def _check_that_keras_optimizers_are_refused(self, kind):
    model = _MODELS[kind]
    # A form that TFF's own builders take for variable models; ours do not.
    keras = functools.partial(tf.keras.optimizers.SGD, 0.1)
    for build, name in (
      (lambda: algorithms.build_fed_fish(model, keras), 'client_optimizer_fn'),
      (lambda: algorithms.build_fed_avg(model, keras), 'client_optimizer_fn'),
      (
        lambda: algorithms.build_fed_prox(model, keras, proximal_strength=0.1),
        'client_optimizer_fn',
      ),
      (
        lambda: algorithms.build_partial_exchange(
          model, keras, selector=client_work.build_share_selector(0.5)
        ),
        'client_optimizer_fn',
      ),
      (
        lambda: algorithms.build_ditto(model, keras, personal_strength=0.1),
        'client_optimizer_fn',
      ),
      (
        lambda: algorithms.build_fed_per(model, keras, local_tensors=_HEAD),
        'client_optimizer_fn',
      ),
      (
        lambda: algorithms.build_fed_rep(
          model, keras, local_tensors=_HEAD, head_epochs=1
        ),
        'client_optimizer_fn',
      ),
      (lambda: algorithms.build_fed_sgd(model, keras), 'server_optimizer_fn'),
      (lambda: algorithms.build_hf_maml(model, keras), 'client_optimizer_fn'),
      (lambda: algorithms.build_mime_lite(model, keras), 'client_optimizer_fn'),
      (
        lambda: algorithms.build_scaffold(model, 0.1, keras, num_clients=4),
        'server_optimizer_fn',
      ),
    ):
      with self.assertRaisesRegex(TypeError, name):
        build()
