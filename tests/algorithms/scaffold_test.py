# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""SCAFFOLD against NumPy, and exact limits."""

import functools
from unittest import mock

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import errors
from fedfish_tff import parameters
from tests import numpy_reference as ref
from tests import rounds

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_RATE, _SERVER_RATE, _EPOCHS = 0.2, 0.7, 2
_OPTIONS = {
  1: client_work.ControlUpdate.GRADIENT,
  2: client_work.ControlUpdate.LOCAL_STEPS,
}

_UNIFORM = tff.learning.ClientWeighting.UNIFORM
_NUM_EXAMPLES = tff.learning.ClientWeighting.NUM_EXAMPLES


@functools.cache
def _build(kind='functional', option=2, weighting=_UNIFORM):
  """Tracing takes most of the time here, so a process serves many tests."""
  return algorithms.build_scaffold(
    rounds.MODELS[kind],
    rounds.sgd(_RATE),
    rounds.sgd(_SERVER_RATE),
    num_clients=len(rounds.SIZES),
    control_update=_OPTIONS[option],
    local_epochs=_EPOCHS,
    client_weighting=weighting,
  )


def _rounds(*args):
  return rounds.Rounds(_build(*args), epochs=_EPOCHS)


def _train(weights, control, client_control, batches, *, option):
  """A client's part of SCAFFOLD's Algorithm 1: y and the new c_i."""
  trained = tuple(np.asarray(w, np.float64) for w in weights)
  for _ in range(_EPOCHS):
    for batch in batches:
      trained = tuple(
        w - _RATE * (g - own + c)
        for w, g, own, c in zip(
          trained, ref.gradients(trained, *batch), client_control, control
        )
      )
  if option == 1:
    return trained, ref.full_gradient(weights, batches)
  steps = _EPOCHS * len(batches)
  return trained, tuple(
    own - c + (np.float64(start) - end) / (steps * _RATE)
    for own, c, start, end in zip(client_control, control, weights, trained)
  )


def _reference(start, *, option=2, by_examples=False, **kwargs):
  """Algorithm 1; the server has the weights and a control variate."""
  zeros = tuple(np.zeros(w.shape) for w in start)

  def client_fn(server, own, batches):
    own = own or zeros
    trained, control = _train(*server, own, batches, option=option)
    weight = rounds.count_examples(batches) if by_examples else 1
    change = [new - old for new, old in zip(control, own)]
    return (weight, trained, change), control

  def server_fn(server, sent):
    weights, ends, changes = zip(*sent.values())
    return (
      tuple(
        w + _SERVER_RATE * (np.average(es, axis=0, weights=weights) - w)
        for w, es in zip(server[0], zip(*ends))
      ),
      tuple(
        c + np.sum(cs, axis=0) / len(rounds.SIZES)
        for c, *cs in zip(server[1], *changes)
      ),
    )

  return rounds.reference(
    (start, zeros), client_fn=client_fn, server_fn=server_fn, **kwargs
  )


def _weights_and_control(run):
  return run.server(), run.state.client_work['control']


# Linear regression, a batch of all examples a client: losses of mean
# (x w - y)^2 / 2 with other minima and curvatures from client to client.
_NUM_STEPS = 10
_TARGETS = ((3.0, -2.0), (-1.0, 1.0), (0.5, 4.0))
_SCALES = ((1.0, 0.5), (0.4, 1.0), (1.2, 1.2))


def _draw_regressions():
  """(x, y) of each client."""
  rng = np.random.default_rng(0)
  for target, scale in zip(_TARGETS, _SCALES):
    x = np.float32(rng.normal(size=(6, 2)) * scale)
    yield x, x @ np.float32(target)


class ScaffoldTest(rounds.TestCase):
  @parameterized.parameters(
    ('functional', 1, _NUM_EXAMPLES), ('functional', 2, _UNIFORM)
  )
  def test_follows_numpy_with_partial_participation(self, *choices):
    self._check_follows_numpy(*choices)

  @pytest.mark.thorough
  def test_a_variable_model_follows_numpy(self):
    self._check_follows_numpy('variable', 2, _NUM_EXAMPLES)

  def _check_follows_numpy(self, kind, option, weighting):
    run = _rounds(kind, option, weighting)
    by_examples = weighting == _NUM_EXAMPLES
    self.check_follows(
      run,
      _reference(run.server(), option=option, by_examples=by_examples),
      server=_weights_and_control,
    )
    # Else the steps of FedAvg would have passed.
    _, control = _weights_and_control(run)
    self.assertGreater(max(np.abs(c).max() for c in control), 0.01)

  def test_converges_to_the_optimum_where_fed_avg_does_not(self):
    self._check_converges(2)

  @pytest.mark.thorough
  def test_so_does_option_one(self):
    self._check_converges(1)

  def _check_converges(self, option):
    model, rate = rounds.create_regression(), 0.2
    examples = list(_draw_regressions())
    curvatures = [np.float64(x).T @ x / len(x) for x, _ in examples]
    # The mean loss has its minimum where the gradients' mean is 0, and FedAvg
    # stays where the mean of the clients' K steps of gradient descent is 0.
    pulls = [
      np.eye(2) - np.linalg.matrix_power(np.eye(2) - rate * a, _NUM_STEPS)
      for a in curvatures
    ]
    optimum, drifted = (
      np.linalg.solve(sum(ps), sum(p @ t for p, t in zip(ps, _TARGETS)))
      for ps in (curvatures, pulls)
    )
    self.assertGreater(np.abs(optimum - drifted).max(), 0.1)
    data = [
      tf.data.Dataset.from_tensors(e).repeat(_NUM_STEPS) for e in examples
    ]

    fed_avg = algorithms.build_fed_avg(
      model, rounds.sgd(rate), client_weighting=_UNIFORM
    )
    state = fed_avg.initialize()
    for _ in range(60):
      state = fed_avg.next(state, data).state
    (found,) = fed_avg.get_model_weights(state).trainable
    np.testing.assert_allclose(found, drifted, atol=1e-4)

    scaffold = algorithms.build_scaffold(
      model,
      rounds.sgd(rate),
      num_clients=len(data),
      control_update=_OPTIONS[option],
      local_epochs=_NUM_STEPS,
    )
    state = scaffold.initialize()
    clients = [scaffold.initialize_client(state)] * len(data)
    for round_number in range(60):
      cohort = [[0, 1], [1, 2], [0, 2]][round_number % 3]
      output = scaffold.next(
        state, [clients[i] for i in cohort], [data[i] for i in cohort]
      )
      state = output.state
      for i, client_state in zip(cohort, output.client_states):
        clients[i] = client_state
    (found,) = scaffold.get_model_weights(state).trainable
    np.testing.assert_allclose(found, optimum, atol=1e-4)
    # Control variates are the gradients at the optimum.
    for client, a, target in zip(clients, curvatures, _TARGETS):
      np.testing.assert_allclose(
        client['control'][0], a @ (optimum - target), atol=1e-4
      )

  @parameterized.parameters(*_OPTIONS)
  def test_rates_of_schedules_and_weight_decay_follow_numpy(self, option):
    # The control variates of option II depend on the rate, too.
    decay = 0.5
    plain_gradients = ref.gradients
    process = algorithms.build_scaffold(
      rounds.MODELS['functional'],
      client_work.build_weight_decay_optimizer(
        client_work.build_rate_parameter_optimizer(
          rounds.sgd(10 * _RATE), 'rate', factor_name='factor'
        ),
        decay,
      ),
      rounds.sgd(_SERVER_RATE),
      num_clients=len(rounds.SIZES),
      control_update=_OPTIONS[option],
      local_epochs=_EPOCHS,
    )
    run = rounds.Rounds(process, epochs=_EPOCHS)

    def penalized(weights, x, y):
      gradients = plain_gradients(weights, x, y)
      return tuple(g + decay * w for g, w in zip(gradients, weights))

    with (
      parameters.replaced({'rate': 4 * _RATE, 'factor': 0.25}),
      mock.patch.object(ref, 'gradients', autospec=True, side_effect=penalized),
    ):
      self.check_follows(
        run,
        _reference(run.server(), option=option),
        server=_weights_and_control,
      )

  @parameterized.parameters(
    (rounds.sgd(_RATE, 0.9), 'with momentum'),
    (client_work.build_nesterov(_RATE, momentum=0.9), 'with momentum'),
    (
      client_work.build_proximal_optimizer(rounds.sgd(_RATE), 0.1),
      'a proximal term',
    ),
    (tff.learning.optimizers.build_adam(_RATE), 'must be SGD'),
  )
  def test_steps_that_hide_the_mean_gradient_are_refused(
    self, optimizer, message
  ):
    with self.assertRaisesRegex(errors.InputError, f'SCAFFOLD.*{message}'):
      algorithms.build_scaffold(
        rounds.MODELS['functional'], optimizer, num_clients=4
      )

  def test_a_rate_of_zero_changes_nothing(self):
    process = algorithms.build_scaffold(
      rounds.MODELS['functional'], rounds.sgd(0.0), num_clients=4
    )
    run = rounds.Rounds(process, epochs=_EPOCHS)
    before = run.state
    control = process.initialize_client(before)
    metrics = run.run('ab')
    self.assertEqual(metrics['client_work']['excluded_clients'], 0)
    for client in 'ab':
      self.assert_same(run.clients[client], control)
    self.assert_same(run.state.client_work, before.client_work)

  @pytest.mark.thorough
  def test_a_delta_too_large_for_the_sum_leaves_its_client_out(self):
    run = _rounds('functional', 1, _NUM_EXAMPLES)
    new = run.process.initialize_client(run.state)
    # Finite, and so are the weights after the steps with it, but not 2 * 6
    # times as much. Adding one number to all logits changes no gradient.
    huge = {'control': (*new['control'][:3], np.full(3, 1e38, np.float32))}
    run.clients['a'] = huge
    metrics = run.run('ab')
    self.assertEqual(metrics['client_work']['excluded_clients'], 1)
    self.assertEqual(metrics['finalizer']['update_non_finite'], 0)
    self.assert_same(run.clients['a'], huge)
    for tensor in tf.nest.flatten(_weights_and_control(run)):
      self.assertTrue(np.isfinite(tensor).all())

  @pytest.mark.thorough
  def test_sums_go_through_the_factories(self):
    run = rounds.Rounds(
      algorithms.build_scaffold(
        rounds.MODELS['functional'],
        rounds.sgd(_RATE),
        rounds.sgd(_SERVER_RATE),
        num_clients=len(rounds.SIZES),
        model_aggregator=tff.aggregators.MeanFactory(
          tff.aggregators.SecureSumFactory(20.0, -20.0)
        ),
      ),
      epochs=_EPOCHS,
    )
    self.check_follows(
      run, _reference(run.server()), server=_weights_and_control
    )
    metrics = run.run('ab')
    self.assertIn(
      'secure_upper_clipped_count', metrics['aggregator']['mean_value']
    )

  @pytest.mark.thorough
  def test_a_sum_of_control_variates_that_is_not_finite_is_not_added(self):
    run = _rounds('functional', 1)
    start = run.server()
    new = run.process.initialize_client(run.state)
    # Two changes of 1.8e38. One number in all logits changes no gradient.
    control = (*new['control'][:3], np.full(3, -1.8e38, np.float32))
    run.clients = dict.fromkeys('ac', {'control': control})
    metrics = run.run('ac')
    self.assertEqual(metrics['client_work']['excluded_clients'], 0)
    self.assertEqual(metrics['finalizer']['control_non_finite'], 1)
    self.assertEqual(metrics['finalizer']['update_non_finite'], 0)
    self.assertGreater(np.abs(run.server()[0] - start[0]).max(), 0)
    self.assert_same(
      run.state.client_work['control'], [np.zeros_like(w) for w in start]
    )

  def test_the_gradient_of_option_one_is_a_pass(self):
    self.assertEqual(_build(option=1, weighting=_NUM_EXAMPLES).extra_passes, 1)

  def test_the_gradient_of_option_one_needs_whole_epochs(self):
    process = _build(option=1, weighting=_NUM_EXAMPLES)
    with self.assertRaisesRegex(Exception, 'not that many whole epochs'):
      rounds.Rounds(process, epochs=1).run('b')
    # There is nothing to count for a mean over steps.
    rounds.Rounds(_build(), epochs=1).run('b')
