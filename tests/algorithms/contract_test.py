# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The contract of algorithms that train a model: one test runs all of them."""

import asyncio
from collections.abc import Callable
from collections.abc import Mapping
import functools

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import errors
from fedfish_tff import simulation
from tests import closed_form_builders
from tests import numpy_reference as ref
from tests import rounds

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_HALF = client_work.build_share_selector(0.5)
# A new algorithm is entered here; a test below finds out if it is not. Takes the
# model, and the optimizers of clients and server.
_BUILDERS: Mapping[
  str,
  Callable[..., algorithms.FederatedProcess | algorithms.ClientStateProcess],
] = {
  'build_apfl': algorithms.build_apfl,
  'build_ditto': functools.partial(
    algorithms.build_ditto, personal_strength=0.5
  ),
  # Of earlier models, even a step without an update keeps others.
  'build_fed_async': lambda model, client, _, **options: (
    algorithms.build_fed_async(model, client, **{'max_staleness': 0, **options})
  ),
  'build_fed_avg': algorithms.build_fed_avg,
  'build_fed_buff': functools.partial(
    algorithms.build_fed_buff, max_staleness=0
  ),
  'build_fed_cm': algorithms.build_fed_cm,
  'build_fed_dyn': functools.partial(
    algorithms.build_fed_dyn, num_clients=4, regularization=0.1
  ),
  'build_fed_fish': algorithms.build_fed_fish,
  'build_fed_nova': algorithms.build_fed_nova,
  'build_fed_per': functools.partial(
    algorithms.build_fed_per, local_tensors=rounds.HEAD
  ),
  'build_fed_prox': functools.partial(
    algorithms.build_fed_prox, proximal_strength=0.5
  ),
  'build_fed_rep': functools.partial(
    algorithms.build_fed_rep, local_tensors=rounds.HEAD, head_epochs=1
  ),
  'build_fed_sgd': lambda model, _, server: algorithms.build_fed_sgd(
    model, server
  ),
  'build_hf_maml': functools.partial(
    algorithms.build_hf_maml,
    # Or else metrics are of a part of the examples.
    meta_batches=client_work.MetaBatches.SHARED,
  ),
  'build_lg_fed_avg': functools.partial(
    algorithms.build_lg_fed_avg, global_tensors=rounds.HEAD
  ),
  'build_mime_lite': algorithms.build_mime_lite,
  'build_p_fed_me': functools.partial(
    algorithms.build_p_fed_me, personal_strength=2.0
  ),
  'build_partial_exchange': functools.partial(
    algorithms.build_partial_exchange, selector=_HALF
  ),
  'build_partially_local': lambda model, client, server: (
    algorithms.build_partially_local(
      model,
      client_work.build_model_delta_update(client),
      server,
      local_tensors=rounds.HEAD,
      build_local_training=lambda: client_work.build_local_training(
        model, client
      ),
    )
  ),
  'build_scaffold': functools.partial(algorithms.build_scaffold, num_clients=4),
  'build_stateful_partial_exchange': lambda model, client, _, **options: (
    algorithms.build_stateful_partial_exchange(
      model, client, **{'selector': _HALF, **options}
    )
  ),
}
# FedRep has an epoch for each part of the model.
_EPOCHS = {'build_fed_rep': 2}
# Those of closed forms are in closed_form_test; others have a model, or a
# function that creates models, of their own, and tests of all this.
_TESTED_APART = (
  *closed_form_builders.BUILDERS,
  'build_fed_ma',
  'build_linear_fed_rep',
  'build_method_of_moments',
)
# Numbers of the model, and of its head; float32, as all that is sent.
_ALL, _HEAD = (sum(w.size for w in ref.initial_weights()[i:]) for i in (0, 2))
# Passes over the data beside those of training, and how many numbers of four
# bytes go down and up beyond FedAvg's; one down is the round's number.
_COSTS = {
  'build_apfl': (1, 0, 0),
  'build_ditto': (1, 0, 0),
  'build_fed_async': (0, 0, 0),
  'build_fed_buff': (0, 0, 0),
  # The direction, and the length of the steps with the weight once more.
  'build_fed_cm': (0, _ALL, 2),
  # Counts the clients.
  'build_fed_dyn': (0, 0, 1),
  # The Fisher diagonal, but no weight.
  'build_fed_fish': (1, 1, _ALL - 1),
  # The norm of the steps, and the weight once more.
  'build_fed_nova': (0, 0, 2),
  # Only what is shared travels.
  'build_fed_per': (0, -_HEAD, -_HEAD),
  'build_fed_prox': (0, 0, 0),
  'build_fed_rep': (0, -_HEAD, -_HEAD),
  # Four gradients of each batch.
  'build_hf_maml': (3, 0, 0),
  'build_lg_fed_avg': (0, _HEAD - _ALL, _HEAD - _ALL),
  # The gradient; SGD without momentum has a rate alone.
  'build_mime_lite': (1, 1, _ALL + 1),
  # Five gradients of each batch.
  'build_p_fed_me': (4, 0, 0),
  # A denominator and a count for each tensor, and the number of clients, but no
  # weight.
  'build_partial_exchange': (0, 1, 4 + 4 + 1 - 1),
  'build_partially_local': (0, -_HEAD, -_HEAD),
  # Control variates; a client's own stays with it.
  'build_scaffold': (0, _ALL, _ALL),
  # The round in which each tensor was sent last, too.
  'build_stateful_partial_exchange': (0, 4 + 1, 4 + 4 + 1 - 1),
}
# Values of an argument that are refused by its name.
_IMPOSSIBLE = (
  ('build_apfl', 'mixture', (-0.1, 1.5, np.nan)),
  ('build_fed_async', 'max_staleness', (-1,)),
  ('build_fed_async', 'mixing_weight', (0.0, 1.5)),
  ('build_fed_buff', 'max_staleness', (-1,)),
  ('build_fed_cm', 'mixture', (0, 1.5, np.nan)),
  ('build_fed_dyn', 'num_clients', (0,)),
  ('build_fed_dyn', 'regularization', (0.0, np.inf)),
  ('build_fed_fish', 'local_epochs', (0,)),
  ('build_fed_fish', 'damping', (-1.0, np.nan)),
  ('build_fed_fish', 'relative_damping', (-1.0,)),
  ('build_fed_fish', 'minimum_denominator', (-1e-9,)),
  ('build_fed_fish', 'fisher_estimator', ('per_example',)),
  ('build_fed_fish', 'fisher_normalization', ('mean',)),
  ('build_fed_fish', 'fisher_granularity', ('tensor',)),
  ('build_fed_rep', 'head_epochs', (0,)),
  ('build_fed_rep', 'body_epochs', (0,)),
  ('build_hf_maml', 'personal_learning_rate', (-0.1, np.nan)),
  ('build_hf_maml', 'difference', (0,)),
  ('build_hf_maml', 'meta_gradient', ('exact',)),
  ('build_hf_maml', 'meta_batches', ('shared',)),
  ('build_mime_lite', 'local_epochs', (0,)),
  ('build_p_fed_me', 'personal_learning_rate', (0.0, np.inf)),
  ('build_p_fed_me', 'personal_steps', (0,)),
  ('build_p_fed_me', 'personal_strength', (0.0,)),
  ('build_scaffold', 'control_update', ('gradient',)),
  ('build_scaffold', 'local_epochs', (0,)),
  ('build_scaffold', 'num_clients', (0,)),
)
_TWO_GROUPS = client_work.build_share_selector(0.5, groups=(0, 1))
# What is refused by other messages.
_REFUSED = (
  *(
    (builder, {name: strength}, 'The proximal strength must be .*')
    for builder, name in (
      ('build_ditto', 'personal_strength'),
      ('build_fed_prox', 'proximal_strength'),
    )
    for strength in (-0.1, np.nan, np.inf)
  ),
  (
    'build_fed_fish',
    {'selector': _HALF, 'diagnostics': True},
    'diagnostics must be False with a selector',
  ),
  (
    'build_fed_fish',
    {'fisher_estimator': client_work.FisherEstimator.SAMPLED_LABEL},
    'sampled_label Fisher estimator needs a label_sampler',
  ),
  ('build_fed_per', {'local_tensors': (True, False)}, 'of the 4 trainable'),
  ('build_fed_per', {'local_statistics': True}, 'local_statistics .*False'),
  *(
    (builder, options, message)
    for builder in ('build_partial_exchange', 'build_stateful_partial_exchange')
    for options, message in (
      ({'tensor_names': ['one']}, 'tensor_names .*got 1'),
      ({'selector': _TWO_GROUPS}, 'groups for 2'),
    )
  ),
)
_INFINITE = [(np.full_like(x, np.inf), y) for x, y in rounds.BROKEN]


def _start(builder, kind):
  process = _BUILDERS[builder](
    rounds.MODELS[kind],
    rounds.sgd(0.1),
    # Its momentum moves weights even where an update is zero.
    tff.learning.optimizers.build_adam(0.05),
  )
  return rounds.Rounds(process, epochs=_EPOCHS.get(builder, 1))


def _numbers(run):
  """Returns all floating-point numbers of the server; integers may count."""
  state = run.state
  state = (state.global_model_weights, state.finalizer, state.client_work)
  leaves = map(np.asarray, tf.nest.flatten(state))
  return [leaf for leaf in leaves if leaf.dtype.kind == 'f']


# One of each form: a mean, two sums, client states, tensors kept by clients.
_DAILY = (
  'build_fed_avg',
  'build_fed_fish',
  'build_fed_per',
  'build_scaffold',
  'build_stateful_partial_exchange',
)
# What local training is in NumPy, beside epochs of SGD.
_LOCAL_TRAINING = {
  'build_fed_avg': {},
  'build_fed_fish': {},
  'build_fed_per': {},
  'build_fed_prox': {'proximal_strength': 0.5},
  'build_fed_rep': {'trained': rounds.HEAD},
  'build_lg_fed_avg': {},
  'build_partial_exchange': {},
  'build_scaffold': {},
}
# Those whose clients train their states, or take steps with them.
_OWN_STATES = (
  'build_apfl',
  'build_ditto',
  'build_fed_dyn',
  'build_fed_per',
  'build_fed_rep',
  'build_lg_fed_avg',
  'build_partially_local',
  'build_scaffold',
)


class ContractTest(rounds.TestCase):
  def test_every_algorithm_is_entered(self):
    exported = [n for n in dir(algorithms) if n.startswith('build_')]
    self.assertCountEqual([*_BUILDERS, *_TESTED_APART], exported)

  @parameterized.parameters(*_DAILY)
  def test_contract(self, builder):
    self._check_contract(builder, 'functional')

  @parameterized.parameters(*(b for b in _BUILDERS if b not in _DAILY))
  @pytest.mark.thorough
  def test_contract_of_the_others(self, builder):
    self._check_contract(builder, 'functional')

  # Algorithms see models as functions of weights: some will do.
  @parameterized.parameters('build_partial_exchange', 'build_fed_rep')
  @pytest.mark.thorough
  def test_contract_of_a_variable_model(self, builder):
    self._check_contract(builder, 'variable')

  @parameterized.parameters(*_BUILDERS)
  @pytest.mark.slow
  def test_contract_of_variable_models(self, builder):
    self._check_contract(builder, 'variable')

  def _check_contract(self, builder, kind):
    context = tff.framework.get_context_stack().current
    # Those of tests before this one.
    reasons = context.runner.general_path_reasons
    run = _start(builder, kind)
    process, epochs = run.process, run.epochs
    weights = process.get_model_weights(run.state)
    has_client_states = isinstance(process, algorithms.ClientStateProcess)

    def told(batches):
      data = ref.to_dataset(batches, epochs=epochs)
      return bool(process.update_is_finite(weights, data))

    with self.subTest('costs'):
      passes, down, up = _COSTS.get(builder, (0, 0, 0))
      self.assertEqual(process.extra_passes, passes)
      if kind == 'functional':  # Keras models have more metrics.
        # FedAvg's: the weights; two means (a total and a count each), an int64
        # count, the client's weight, and whether it was left out.
        self.assertEqual(
          simulation.measure_wire_bytes(process),
          (4 * (_ALL + down), 4 * (_ALL + up) + 2 * 2 * 4 + 8 + 4 + 4),
        )

    with self.subTest('types fit'):
      # Those of processes with client states are checked by their class.
      if not has_client_states:
        self._check_types(process)

    with self.subTest('a new client has the model of the server'):
      if has_client_states:
        new = process.initialize_client(run.state)
        self.assert_same(
          process.client_model_weights(run.state, new).trainable,
          weights.trainable,
        )
        tf.nest.assert_same_structure(process.client_state_template, new)
        tf.nest.map_structure(
          lambda zeros, leaf: self.assertEqual(
            (zeros.dtype, zeros.shape), (leaf.dtype, leaf.shape)
          ),
          process.client_state_template,
          new,
        )

    before = run.copy()
    train = run.run('ab')['client_work']['train']
    with self.subTest('clients start from the weights of the model'):
      tf.nest.map_structure(
        np.testing.assert_array_equal,
        simulation.training_weights(process, run.state),
        process.get_model_weights(run.state),
      )
    with self.subTest('training changes weights and reports metrics'):
      changes = [
        np.abs(a - b).max() for a, b in zip(run.server(), before.server())
      ]
      self.assertGreater(max(changes), 0)
      self.assertEqual(train['num_examples'], 15 * epochs)
      self.assertTrue(np.isfinite(train['loss']))

    if builder in _LOCAL_TRAINING:
      with self.subTest('local training follows NumPy'):
        start = process.get_model_weights(run.state)
        if has_client_states:
          start = process.client_model_weights(run.state, run.clients['a'])
        expected = ref.train(
          start.trainable,
          rounds.DATA['a'],
          rate=0.1,
          epochs=epochs,
          **_LOCAL_TRAINING[builder],
        )
        self.assert_close(run.train_locally(start, 'a'), expected)

    with self.subTest('neither diverged nor empty clients change a bit'):
      # What repeats bit for bit repeats without them, too.
      with_them = before.copy()
      metrics = with_them.run('abcd', {'c': rounds.BROKEN, 'd': []})
      self.assertEqual(metrics['client_work']['excluded_clients'], 1)
      self.assertEqual(metrics['client_work']['train'], train)
      self.assert_same(_numbers(with_them), _numbers(run))
      for client, state in run.clients.items():
        self.assert_same(with_them.clients[client], state)
      if has_client_states:
        self.assert_same(with_them.clients['c'], new)
        # An empty client of partial exchange has the server's reply.
        if builder != 'build_stateful_partial_exchange':
          self.assert_same(with_them.clients['d'], new)
      for batches in ([], *rounds.DATA.values()):
        self.assertTrue(told(batches))
      for batches in (rounds.BROKEN, _INFINITE):
        self.assertFalse(told(batches))

    with self.subTest('a round without any update keeps everything'):
      without = run.copy()
      metrics = without.run('ab', {'a': _INFINITE, 'b': []})
      self.assertEqual(metrics['client_work']['excluded_clients'], 1)
      without.run('')
      self.assert_same(_numbers(without), _numbers(run))
      if has_client_states:
        self.assert_same(without.clients['a'], run.clients['a'])

    with self.subTest('a run resumes from a checkpoint, and goes on as it was'):
      resumed = before.copy()
      manager = simulation.CheckpointManager(self.create_tempdir().full_path)
      asyncio.run(manager.save((run.state, run.clients), 1))
      (resumed.state, resumed.clients), _ = asyncio.run(
        manager.load_latest((run.state, run.clients))
      )
      resumed.run('ac')
      going_on = run.copy()
      going_on.run('ac')
      self.assert_same(resumed.state, going_on.state)
      self.assert_same(resumed.clients, going_on.clients)

    with self.subTest('rounds run as graphs'):
      self.assertEqual(context.runner.general_path_reasons, reasons)

    if builder in _OWN_STATES:
      with self.subTest('a client whose state is not finite is left out'):
        broken = tf.nest.map_structure(
          lambda leaf: np.full_like(leaf, np.nan), new
        )
        with_it, without = before.copy(), before.copy()
        with_it.clients['a'] = broken
        metrics = with_it.run('ab')
        without.run('b')
        self.assertEqual(metrics['client_work']['excluded_clients'], 1)
        self.assert_same(with_it.clients['a'], broken)
        self.assert_same(_numbers(with_it), _numbers(without))

    with self.subTest('weights can be set'):
      start = type(weights.trainable)(ref.initial_weights(9))
      moved = process.set_model_weights(
        run.state,
        tff.learning.models.ModelWeights(start, type(weights.non_trainable)()),
      )
      self.assert_same(process.get_model_weights(moved).trainable, start)

    if has_client_states:
      with self.subTest('a round without client states is the same'):
        clients = [
          {'client_state': new, 'data': ref.to_dataset(batches, epochs=epochs)}
          for batches in (rounds.DATA['a'], rounds.DATA['b'])
        ]
        output = process.next_without_client_states(before.state, clients)
        self.assert_same(output.state, run.state)
        self.assertEqual(output.metrics['client_work']['train'], train)
      return

    with self.subTest('hyper-parameters can be set'):
      hparams = process.get_hparams(run.state)
      self.assert_same(process.set_hparams(run.state, hparams), run.state)

  def _check_types(self, process):
    self.assertIsInstance(process, tff.learning.templates.LearningProcess)
    state_type, data_type = process.next.type_signature.parameter
    self.assertEqual(process.initialize.type_signature.result, state_type)
    self.assertEqual(
      process.local_training.type_signature.parameter[1], data_type.member
    )
    self.assertTrue(
      process.get_model_weights.type_signature.result.is_assignable_from(
        process.local_training.type_signature.result
      )
    )

  @parameterized.parameters(*_IMPOSSIBLE)
  def test_impossible_values_are_refused(self, builder, name, values):
    for value in values:
      message = rf'^{name} must be .*, got {value!r}\.$'
      with self.assertRaisesRegex(errors.InputError, message):
        self._build(builder, **{name: value})

  @parameterized.parameters(*_REFUSED)
  def test_what_does_not_fit_is_refused(self, builder, options, message):
    with self.assertRaisesRegex(errors.InputError, message):
      self._build(builder, **options)

  @parameterized.parameters(
    'build_fed_fish',
    'build_fed_per',
    'build_fed_rep',
    'build_lg_fed_avg',
    'build_partial_exchange',
    'build_stateful_partial_exchange',
  )
  def test_what_is_no_selector_is_refused(self, builder):
    with self.assertRaisesRegex(TypeError, 'selector must be .*got 0.3'):
      self._build(builder, selector=0.3)

  def _build(self, builder, **options):
    sgd = rounds.sgd(0.1)
    return _BUILDERS[builder](rounds.MODELS['functional'], sgd, sgd, **options)

  @parameterized.parameters(*_BUILDERS)
  def test_optimizers_that_are_not_tffs_are_refused(self, builder):
    # A form that TFF's own builders take for variable models; ours do not.
    keras = functools.partial(tf.keras.optimizers.SGD, 0.1)
    with self.assertRaisesRegex(TypeError, '(client|server)_optimizer_fn'):
      _BUILDERS[builder](rounds.MODELS['functional'], keras, keras)
