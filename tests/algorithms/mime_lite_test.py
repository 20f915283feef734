# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Mime Lite against NumPy, TFF's own and exact limits."""

import functools
from unittest import mock

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import errors
from fedfish_tff import simulation
from fedfish_tff.execution import contexts
from tests import numpy_reference as ref

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_CLIENTS = [ref.make_batches(n, seed) for seed, n in enumerate((10, 7, 3))]
_MODELS = {
  'functional': ref.create_functional_model(),
  'variable': ref.create_variable_model,
}
_RATE, _MOMENTUM, _SERVER_RATE, _EPOCHS = 0.1, 0.9, 0.7, 2
_UNIFORM = tff.learning.ClientWeighting.UNIFORM
_NUM_EXAMPLES = tff.learning.ClientWeighting.NUM_EXAMPLES


def setUpModule():
  contexts.set_default_context()


def _sgd(rate):
  return tff.learning.optimizers.build_sgdm(rate)


def _momentum():
  return tff.learning.optimizers.build_sgdm(_RATE, momentum=_MOMENTUM)


@functools.cache
def _build(kind='functional', weighting=_NUM_EXAMPLES):
  """Tracing takes most of the time here, so a process serves many tests."""
  return algorithms.build_mime_lite(
    _MODELS[kind],
    _momentum(),
    _sgd(_SERVER_RATE),
    local_epochs=_EPOCHS,
    client_weighting=weighting,
  )


def _start(process):
  state = process.initialize()
  start = ref.initial_weights()
  if isinstance(process.get_model_weights(state).trainable, list):
    start = list(start)
  return process.set_model_weights(
    state, tff.learning.models.ModelWeights(start, type(start)())
  )


def _next(process, state, clients, epochs=_EPOCHS):
  return process.next(
    state, [ref.to_dataset(c, epochs=epochs) for c in clients]
  )


def _run(process, clients, rounds=3):
  state = _start(process)
  for _ in range(rounds):
    state, metrics = _next(process, state, clients)
  return process.get_model_weights(state).trainable, metrics


class MimeLiteTest(parameterized.TestCase):
  def _assert_close(self, actual, expected):
    for a, e in zip(actual, expected, strict=True):
      np.testing.assert_allclose(a, e, rtol=1e-5, atol=1e-5)

  @parameterized.parameters((), ('variable', _UNIFORM))
  def test_equals_numpy(self, *choices):
    process = _build(*choices)
    state = _start(process)
    expected = ref.initial_weights()
    velocity = tuple(np.zeros(np.shape(w)) for w in expected)
    for _ in range(3):
      state, metrics = _next(process, state, _CLIENTS)
      expected, velocity = ref.mime_lite_round(
        expected,
        velocity,
        _CLIENTS,
        rate=_RATE,
        momentum=_MOMENTUM,
        server_rate=_SERVER_RATE,
        epochs=_EPOCHS,
        uniform=_UNIFORM in choices,
      )
      self._assert_close(process.get_model_weights(state).trainable, expected)
      self._assert_close(
        state.client_work['optimizer']['accumulator'], velocity
      )
    self.assertEqual(metrics['client_work']['train']['num_examples'], 40)

  def test_the_momentum_is_of_the_loss_with_weight_decay(self):
    decay = 0.5
    plain_gradients = ref.gradients

    def penalized(weights, x, y):
      gradients = plain_gradients(weights, x, y)
      return tuple(g + decay * w for g, w in zip(gradients, weights))

    process = algorithms.build_mime_lite(
      _MODELS['functional'],
      client_work.build_weight_decay_optimizer(_momentum(), decay),
      _sgd(_SERVER_RATE),
      local_epochs=_EPOCHS,
    )
    state = _start(process)
    expected = ref.initial_weights()
    velocity = tuple(np.zeros(np.shape(w)) for w in expected)
    for _ in range(2):
      state, _ = _next(process, state, _CLIENTS)
      with mock.patch.object(
        ref, 'gradients', autospec=True, side_effect=penalized
      ):
        expected, velocity = ref.mime_lite_round(
          expected,
          velocity,
          _CLIENTS,
          rate=_RATE,
          momentum=_MOMENTUM,
          server_rate=_SERVER_RATE,
          epochs=_EPOCHS,
        )
      self._assert_close(process.get_model_weights(state).trainable, expected)

  @pytest.mark.thorough
  def test_equals_tff(self):
    # Of sums of squares too; NumPy's has momentum alone.
    model = _MODELS['functional']
    optimizer = tff.learning.optimizers.build_adam(0.01, epsilon=1e-2)
    ours, metrics = _run(
      algorithms.build_mime_lite(
        model, optimizer, _sgd(_SERVER_RATE), local_epochs=_EPOCHS
      ),
      _CLIENTS,
    )
    theirs, expected_metrics = _run(
      tff.learning.algorithms.build_weighted_mime_lite(
        model, optimizer, _sgd(_SERVER_RATE)
      ),
      _CLIENTS,
    )
    self._assert_close(ours, theirs)
    for name, value in expected_metrics['client_work']['train'].items():
      np.testing.assert_allclose(
        metrics['client_work']['train'][name], value, rtol=1e-5
      )

  def test_diverged_clients_are_left_out_and_counted(self):
    x, y = _CLIENTS[1][0]
    broken = [(np.full_like(x, np.nan), y)]
    process = _build()
    weights, metrics = _run(process, [_CLIENTS[0], broken, []])
    self.assertEqual(metrics['client_work']['excluded_clients'], 1)
    self.assertEqual(metrics['client_work']['train']['num_examples'], 20)
    expected, _ = _run(process, [_CLIENTS[0], []])
    for a, e in zip(weights, expected):
      np.testing.assert_array_equal(a, e)

  @pytest.mark.thorough
  def test_tff_does_not_survive_a_diverged_client(self):
    """Why TFF's own client work is not used; see client_work.mime_lite."""
    x, y = _CLIENTS[1][0]
    broken = [(np.full_like(x, np.nan), y)]
    process = tff.learning.algorithms.build_weighted_mime_lite(
      ref.create_functional_model(), _momentum()
    )
    state = _next(process, _start(process), [_CLIENTS[0], broken]).state
    state = _next(process, state, [_CLIENTS[0]]).state
    optimizer_state, _ = state.client_work
    self.assertTrue(np.isnan(optimizer_state['accumulator'][0]).all())

  def test_a_round_of_nobody_keeps_the_momentum(self):
    x, y = _CLIENTS[1][0]
    broken = [(np.full_like(x, np.nan), y)]
    process = _build()
    before = _next(process, _start(process), _CLIENTS).state
    for clients in ([broken, []], [[]]):
      after = _next(process, before, clients).state
      for a, e in zip(
        tf.nest.flatten(after.client_work['optimizer']),
        tf.nest.flatten(before.client_work['optimizer']),
      ):
        np.testing.assert_array_equal(a, e)
      for a, e in zip(
        process.get_model_weights(after).trainable,
        process.get_model_weights(before).trainable,
      ):
        np.testing.assert_array_equal(a, e)

  def test_local_training_has_a_momentum_of_its_own(self):
    process = _build()
    # What the server knows changes nothing.
    state = _next(process, _start(process), _CLIENTS).state
    weights = process.get_model_weights(state)
    trained = process.local_training(
      weights, ref.to_dataset(_CLIENTS[0], epochs=_EPOCHS)
    )
    expected = [np.float64(w) for w in weights.trainable]
    velocity = [np.zeros_like(w) for w in expected]
    for batch in _CLIENTS[0] * _EPOCHS:
      gradients = ref.gradients(tuple(expected), *batch)
      velocity = [_MOMENTUM * v + g for v, g in zip(velocity, gradients)]
      expected = [w - _RATE * v for w, v in zip(expected, velocity)]
    self._assert_close(trained.trainable, expected)

  def test_a_proximal_optimizer_is_refused(self):
    # What the server would step from is no client's start.
    optimizer = client_work.build_proximal_optimizer(_momentum(), 0.1)
    with self.assertRaisesRegex(errors.InputError, 'optimizer is proximal'):
      algorithms.build_mime_lite(ref.create_functional_model(), optimizer)
    algorithms.build_mime_lite(
      ref.create_functional_model(),
      client_work.build_proximal_optimizer(_momentum(), 0.0),
    )

  def test_costs(self):
    process = _build()
    self.assertEqual(process.extra_passes, 1)
    mime_lite = simulation.measure_wire_bytes(process)
    fed_avg = simulation.measure_wire_bytes(
      algorithms.build_fed_avg(ref.create_functional_model(), _sgd(0.1))
    )
    model = 4 * sum(w.size for w in ref.initial_weights())
    # The momentum on the way down, the gradient on the way up, and scalars.
    self.assertBetween(mime_lite.download - fed_avg.download, model, model + 64)
    self.assertBetween(mime_lite.upload - fed_avg.upload, model, model + 64)

  def test_what_is_no_whole_epochs_is_refused(self):
    process = _build()
    with self.assertRaisesRegex(Exception, 'not that many whole epochs'):
      _next(process, _start(process), [_CLIENTS[2]], epochs=1)
    # 14 examples in 4 batches, of which the first 2 hold 8.
    straddling = ref.to_dataset(_CLIENTS[1]).unbatch().repeat(2).batch(4)
    with self.assertRaisesRegex(Exception, 'batches straddle epochs'):
      process.next(_start(process), [straddling])
    with self.assertRaisesRegex(errors.InputError, 'local_epochs must be 1'):
      algorithms.build_mime_lite(
        ref.create_functional_model(), _momentum(), local_epochs=0
      )
