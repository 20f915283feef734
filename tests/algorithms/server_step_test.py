# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of steps of the server, and of the average of weights."""

import collections

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import errors
from fedfish_tff import simulation
from fedfish_tff.algorithms import server_step
from fedfish_tff.execution import contexts
from fedfish_tff.models import dense

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_WEIGHTS = tff.learning.models.ModelWeights(
  trainable=(np.float32([1, 2, 3]), np.float32([[4]])),
  non_trainable=(np.float32(7),),
)
_WEIGHTS_TYPE = tff.to_type(
  tff.learning.models.ModelWeights(
    trainable=((np.float32, [3]), (np.float32, [1, 1])),
    non_trainable=(np.float32,),
  )
)
_SERVER = client_work.Server(_WEIGHTS)


def setUpModule():
  contexts.set_default_context()


def _update(sent):
  return collections.OrderedDict(
    delta=(np.float32([1, 0, -1]), np.float32([[0]])), any_sent=sent
  )


def _build(mask_type=(np.bool_, np.bool_), **others):
  return server_step.compose_server_step(
    # Once it has moved weights, Adam moves them at an update of 0 too.
    tff.learning.optimizers.build_adam(0.1),
    tff.to_type(client_work.Server(_WEIGHTS_TYPE, ())),
    tff.to_type(
      collections.OrderedDict(
        delta=_WEIGHTS_TYPE.trainable, any_sent=tuple(mask_type)
      )
    ),
    algorithms.keep_unsent,
    **others,
  )


class ServerStepTest(parameterized.TestCase):
  @parameterized.parameters(
    ([np.bool_] * 2, (False, True), ([False] * 3, [[True]])),
    (
      [(np.bool_, [3]), np.bool_],
      (np.array([True, False, True]), False),
      ([True, False, True], [[False]]),
    ),
  )
  def test_keeps_what_nobody_sent(self, mask_type, sent, moves):
    step = _build(mask_type)
    everything = (True, True)
    if mask_type[0] != np.bool_:
      everything = (np.ones(3, np.bool_), True)
    first = _update(everything)
    first['delta'] = (np.ones(3, np.float32), np.ones((1, 1), np.float32))
    started = step.next(step.initialize(), _SERVER, first)
    self.assertIsInstance(
      started.result.weights, tff.learning.models.ModelWeights
    )
    output = step.next(started.state, started.result, _update(sent))
    weights = output.result.weights
    for before, after, moved in zip(
      started.result.weights.trainable, weights.trainable, moves, strict=True
    ):
      np.testing.assert_array_equal(after != before, moved)
    self.assertEqual(weights.non_trainable, (7,))

  def test_with_everything_sent_it_is_tffs_own(self):
    update = _update((True, True))
    theirs = tff.learning.templates.build_apply_optimizer_finalizer(
      tff.learning.optimizers.build_adam(0.1), _WEIGHTS_TYPE
    )
    ours = _build()
    one = ours.next(ours.initialize(), _SERVER, update)
    other = theirs.next(theirs.initialize(), _WEIGHTS, update['delta'])
    tf.nest.map_structure(
      np.testing.assert_array_equal,
      (one.state, one.result.weights, one.measurements),
      (other.state, other.result, other.measurements),
    )

  def test_a_rejected_update_changes_nothing(self):
    step = _build(should_reject_update=algorithms.reject_empty_update)
    state = step.initialize()
    for value in (0.0, np.nan):
      update = _update((True, True))
      update['delta'] = tuple(np.full_like(t, value) for t in update['delta'])
      output = step.next(state, _SERVER, update)
      tf.nest.map_structure(
        np.testing.assert_array_equal,
        (output.state, output.result.weights.trainable),
        (state, _WEIGHTS.trainable),
      )
      self.assertEqual(
        output.measurements,
        {
          'update_non_finite': int(np.isnan(value)),
          'update_empty': int(value == 0),
        },
      )

  def test_hyper_parameters_are_those_of_the_optimizer(self):
    step = _build()
    state = step.initialize()
    hparams = step.get_hparams(state)
    self.assertAlmostEqual(float(hparams['learning_rate']), 0.1)
    hparams['learning_rate'] = np.float32(0.5)
    state = step.set_hparams(state, hparams)
    self.assertAlmostEqual(float(step.get_hparams(state)['learning_rate']), 0.5)


_DECAY = 0.6
_ROUNDS = 4


def _build_process():
  return algorithms.build_fed_avg(
    dense.create_mlp_classifier(
      num_features=3, num_classes=2, hidden_units=(), seed=0
    ),
    tff.learning.optimizers.build_sgdm(0.1),
    tff.learning.optimizers.build_adam(0.1),
  )


def _clients(round_number):
  rng = np.random.default_rng(round_number)
  return [
    tf.data.Dataset.from_tensors(
      (
        rng.normal(size=[4, 3]).astype(np.float32),
        rng.integers(2, size=4).astype(np.int32),
      )
    )
    for _ in range(2)
  ]


def _assert_close(found, expected):
  for one, other in zip(found, expected, strict=True):
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


class WeightAveragingTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.inner = _build_process()
    cls.process = algorithms.compose_weight_averaging(cls.inner, decay=_DECAY)

  def test_rounds(self):
    """Clients train as without it, and the model is the weighted average."""
    inner_state, state = self.inner.initialize(), self.process.initialize()
    initial = self.inner.get_model_weights(inner_state).trainable
    _assert_close(self.process.get_model_weights(state).trainable, initial)
    history = []
    for round_number in range(1, _ROUNDS + 1):
      clients = _clients(round_number)
      inner_state, inner_metrics = self.inner.next(inner_state, clients)
      state, metrics = self.process.next(state, clients)
      tf.nest.map_structure(
        np.testing.assert_array_equal, inner_metrics, metrics
      )
      weights = self.inner.get_model_weights(inner_state)
      raw = self.process.get_training_weights(state)
      tf.nest.map_structure(np.testing.assert_array_equal, raw, weights)
      history.append(weights.trainable)
      shares = _DECAY ** np.arange(round_number)[::-1]
      _assert_close(
        self.process.get_model_weights(state).trainable,
        [np.average(w, axis=0, weights=shares) for w in zip(*history)],
      )

  def test_set_weights_begin_anew(self):
    state, _ = self.process.next(self.process.initialize(), _clients(1))
    weights = tff.learning.models.ModelWeights(
      [np.full_like(w, 2.0) for w in self.process.get_model_weights(state)[0]],
      [],
    )
    state = self.process.set_model_weights(state, weights)
    for get in (
      self.process.get_model_weights,
      self.process.get_training_weights,
    ):
      _assert_close(get(state).trainable, weights.trainable)
    self.assertEqual(state.num_rounds, 0)

  def test_hyper_parameters_are_the_process_s(self):
    state = self.process.initialize()
    hparams = self.process.get_hparams(state)
    self.assertEqual(hparams, self.inner.get_hparams(state.process))
    state = self.process.set_hparams(state, hparams)
    self.assertEqual(self.process.get_hparams(state), hparams)

  def test_it_costs_no_communication(self):
    self.assertEqual(
      simulation.measure_wire_bytes(self.process),
      simulation.measure_wire_bytes(self.inner),
    )

  def test_the_decay_is_checked(self):
    with self.assertRaisesRegex(errors.InputError, 'decay .*1.0'):
      algorithms.compose_weight_averaging(self.inner, decay=1.0)
