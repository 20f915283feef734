# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""SCAFFOLD against NumPy, and exact limits."""

import functools
from unittest import mock

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import errors
from fedfish_tff import simulation
from fedfish_tff.execution import contexts
from tests import client_state_rounds
from tests import numpy_reference as ref

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_RATE, _SERVER_RATE, _EPOCHS = 0.2, 0.7, 2
_MODELS = {
  'functional': ref.create_functional_model(),
  'variable': ref.create_variable_model,
}
_OPTIONS = {
  1: client_work.ControlUpdate.GRADIENT,
  2: client_work.ControlUpdate.LOCAL_STEPS,
}
_SIZES, _DATA = client_state_rounds.SIZES, client_state_rounds.DATA
_COHORTS, _BROKEN = client_state_rounds.COHORTS, client_state_rounds.BROKEN
_UNIFORM = tff.learning.ClientWeighting.UNIFORM
_NUM_EXAMPLES = tff.learning.ClientWeighting.NUM_EXAMPLES


def setUpModule():
  contexts.set_default_context()


@functools.cache
def _build(kind='functional', option=2, weighting=_UNIFORM):
  """Tracing takes most of the time here, so a process serves many tests."""
  return algorithms.build_scaffold(
    _MODELS[kind],
    _RATE,
    tff.learning.optimizers.build_sgdm(_SERVER_RATE),
    num_clients=len(_SIZES),
    control_update=_OPTIONS[option],
    local_epochs=_EPOCHS,
    client_weighting=weighting,
  )


class _Simulation(client_state_rounds.Rounds):
  """Rounds with the server's control variate."""

  def __init__(self, process):
    super().__init__(process, epochs=_EPOCHS)

  def control(self):
    return self.state['model']['control']


class _Reference:
  """Algorithm 1 in NumPy, one client after another."""

  def __init__(self, start, *, option, by_examples):
    self.weights = tuple(np.float64(w) for w in start)
    zeros = tuple(np.zeros_like(w) for w in self.weights)
    self.control = zeros
    self.clients = dict.fromkeys(_SIZES, zeros)
    self.option = option
    self.by_examples = by_examples

  def run(self, cohort):
    deltas, changes = [], []
    for c in cohort:
      trained, control = ref.scaffold_client(
        self.weights,
        self.control,
        self.clients[c],
        _DATA[c],
        rate=_RATE,
        epochs=_EPOCHS,
        option=self.option,
      )
      deltas.append([t - w for t, w in zip(trained, self.weights)])
      changes.append([n - o for n, o in zip(control, self.clients[c])])
      self.clients[c] = control
    shares = np.array([_SIZES[c] if self.by_examples else 1 for c in cohort])
    self.weights = tuple(
      w + _SERVER_RATE * sum(s * d for s, d in zip(shares / shares.sum(), ds))
      for w, *ds in zip(self.weights, *deltas)
    )
    self.control = tuple(
      c + len(cohort) / len(_SIZES) * np.mean(dc, axis=0)
      for c, *dc in zip(self.control, *changes)
    )


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


class ScaffoldTest(client_state_rounds.TestCase, parameterized.TestCase):
  @parameterized.parameters(
    ('functional', 1, _NUM_EXAMPLES), ('functional', 2, _UNIFORM)
  )
  def test_follows_numpy_with_partial_participation(self, *choices):
    self._check_follows_numpy(*choices)

  @parameterized.parameters(
    ('variable', 1, _UNIFORM), ('variable', 2, _NUM_EXAMPLES)
  )
  @pytest.mark.thorough
  def test_a_variable_model_follows_numpy(self, *choices):
    self._check_follows_numpy(*choices)

  def _check_follows_numpy(self, kind, option, weighting):
    run = _Simulation(_build(kind, option, weighting))
    reference = _Reference(
      run.server(), option=option, by_examples=weighting == _NUM_EXAMPLES
    )
    for cohort in _COHORTS:
      metrics = run.run(cohort)
      reference.run(cohort)
      self.assert_close(run.server(), reference.weights)
      self.assert_close(run.control(), reference.control)
      for client, state in run.clients.items():
        self.assert_close(state['control'], reference.clients[client])
      self.assertEqual(metrics['client_work']['excluded_clients'], 0)
      self.assertEqual(metrics['finalizer']['control_non_finite'], 0)
    # Else the steps of FedAvg would have passed.
    self.assertGreater(max(np.abs(c).max() for c in run.control()), 0.01)

  def test_the_first_round_is_that_of_fed_avg(self):
    run = _Simulation(_build())
    fed_avg = algorithms.build_fed_avg(
      _MODELS['functional'],
      tff.learning.optimizers.build_sgdm(_RATE),
      tff.learning.optimizers.build_sgdm(_SERVER_RATE),
      client_weighting=_UNIFORM,
    )
    metrics = run.run('abcd')
    output = fed_avg.next(
      fed_avg.initialize(),
      [ref.to_dataset(_DATA[c], epochs=_EPOCHS) for c in 'abcd'],
    )
    self.assert_close(
      run.server(), fed_avg.get_model_weights(output.state).trainable
    )
    expected = output.metrics['client_work']['train']
    for name, value in metrics['client_work']['train'].items():
      np.testing.assert_allclose(value, expected[name], rtol=1e-5)

  def test_converges_to_the_optimum_where_fed_avg_does_not(self):
    self._check_converges(2)

  @pytest.mark.thorough
  def test_so_does_option_one(self):
    self._check_converges(1)

  def _check_converges(self, option):
    model, rate = client_state_rounds.create_regression(), 0.2
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
      model,
      tff.learning.optimizers.build_sgdm(rate),
      client_weighting=_UNIFORM,
    )
    state = fed_avg.initialize()
    for _ in range(60):
      state = fed_avg.next(state, data).state
    (found,) = fed_avg.get_model_weights(state).trainable
    np.testing.assert_allclose(found, drifted, atol=1e-4)

    scaffold = algorithms.build_scaffold(
      model,
      rate,
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

  def test_neither_empty_nor_diverged_clients_change_anything(self):
    with_them, without = _Simulation(_build()), _Simulation(_build())
    for run in (with_them, without):
      run.run('abc')
    before = dict(with_them.clients)
    metrics = with_them.run('abcd', _DATA | {'a': _BROKEN, 'c': []})
    without.run('bd')
    self.assertEqual(metrics['client_work']['excluded_clients'], 1)
    self.assertEqual(metrics['client_work']['train']['num_examples'], 2 * 22)
    self.assert_same(with_them.state['model'], without.state['model'])
    self.assert_same(with_them.clients['b'], without.clients['b'])
    for client in 'ac':
      self.assert_same(with_them.clients[client], before[client])

  @pytest.mark.thorough
  def test_a_delta_too_large_for_the_sum_leaves_its_client_out(self):
    run = _Simulation(_build(option=1, weighting=_NUM_EXAMPLES))
    new = run.process.initialize_client(run.state)
    # Finite, and so are the weights after the steps with it, but not 2 * 6
    # times as much. Adding one number to all logits changes no gradient.
    huge = {'control': (*new['control'][:3], np.full(3, 1e38, np.float32))}
    run.clients['a'] = huge
    metrics = run.run('ab')
    self.assertEqual(metrics['client_work']['excluded_clients'], 1)
    self.assertEqual(metrics['finalizer']['update_non_finite'], 0)
    self.assert_same(run.clients['a'], huge)
    for tensor in (*run.server(), *run.control()):
      self.assertTrue(np.isfinite(tensor).all())

  def test_a_round_to_which_nobody_contributes_keeps_everything(self):
    run = _Simulation(_build())
    run.run('ab')
    before = run.state['model'], run.state['finalizer'], dict(run.clients)
    metrics = run.run('ab', {'a': _BROKEN, 'b': []})
    self.assertEqual(metrics['client_work']['excluded_clients'], 1)
    self.assert_same(
      (run.state['model'], run.state['finalizer'], run.clients), before
    )

  @pytest.mark.thorough
  def test_sums_go_through_the_factories(self):
    run = _Simulation(
      algorithms.build_scaffold(
        _MODELS['functional'],
        _RATE,
        tff.learning.optimizers.build_sgdm(_SERVER_RATE),
        num_clients=len(_SIZES),
        model_aggregator=tff.aggregators.MeanFactory(
          tff.aggregators.SecureSumFactory(20.0, -20.0)
        ),
      )
    )
    reference = _Reference(run.server(), option=2, by_examples=False)
    for cohort in _COHORTS[:2]:
      metrics = run.run(cohort)
      reference.run(cohort)
    self.assert_close(run.server(), reference.weights)
    self.assert_close(run.control(), reference.control)
    self.assertIn(
      'secure_upper_clipped_count', metrics['aggregator']['mean_value']
    )

  @pytest.mark.thorough
  def test_a_sum_of_control_variates_that_is_not_finite_is_not_added(self):
    plain_sum = tff.aggregators.SumFactory()

    class Overflowing(tff.aggregators.UnweightedAggregationFactory):
      """A sum that is infinite."""

      def create(self, value_type):
        inner = plain_sum.create(value_type)

        @tff.tensorflow.computation(value_type)
        def overflow(total):
          return tf.nest.map_structure(lambda t: t + np.inf, total)

        @tff.federated_computation(
          inner.state_type, tff.FederatedType(value_type, tff.CLIENTS)
        )
        def next_fn(state, value):
          output = inner.next(state, value)
          return tff.templates.MeasuredProcessOutput(
            output.state,
            tff.federated_map(overflow, output.result),
            output.measurements,
          )

        return tff.templates.AggregationProcess(inner.initialize, next_fn)

    with mock.patch.object(tff.aggregators, 'SumFactory', Overflowing):
      process = algorithms.build_scaffold(
        _MODELS['functional'], _RATE, num_clients=2
      )
    run = _Simulation(process)
    start = run.server()
    metrics = run.run('ab')
    self.assertEqual(metrics['finalizer']['control_non_finite'], 1)
    self.assertEqual(metrics['finalizer']['update_non_finite'], 0)
    self.assertGreater(np.abs(run.server()[0] - start[0]).max(), 0)
    self.assert_same(run.control(), [np.zeros_like(w) for w in start])

  def test_local_training_is_plain_sgd(self):
    run = _Simulation(_build())
    run.run('ab')
    weights = run.process.client_model_weights(run.state, run.clients['a'])
    self.assert_same(weights.trainable, run.server())
    trained = run.process.local_training(
      weights, ref.to_dataset(_DATA['a'], epochs=_EPOCHS)
    )
    self.assert_close(
      trained.trainable,
      ref.train(weights.trainable, _DATA['a'], rate=_RATE, epochs=_EPOCHS),
    )

  def test_costs(self):
    self.assertEqual(_build(option=1, weighting=_NUM_EXAMPLES).extra_passes, 1)
    process = _build()
    self.assertEqual(process.extra_passes, 0)
    scaffold = simulation.measure_wire_bytes(process)
    fed_avg = simulation.measure_wire_bytes(
      algorithms.build_fed_avg(
        _MODELS['functional'], tff.learning.optimizers.build_sgdm(_RATE)
      )
    )
    # A control variate each way; a client's state stays with it.
    model = 4 * sum(w.size for w in ref.initial_weights())
    self.assertEqual(scaffold.download, fed_avg.download + model)
    self.assertEqual(scaffold.upload, fed_avg.upload + model)

  def test_refuses_a_federation_without_clients(self):
    with self.assertRaisesRegex(errors.InputError, 'num_clients must be'):
      algorithms.build_scaffold(_MODELS['functional'], _RATE, num_clients=0)
