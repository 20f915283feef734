# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedDyn against NumPy, and where it ends."""

import functools

from fedfish_tff import algorithms
from fedfish_tff import errors
from fedfish_tff.execution import contexts
from tests import client_state_rounds
from tests import numpy_reference as ref

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_RATE, _ALPHA, _EPOCHS = 0.2, 0.3, 2
_MODELS = {
  'functional': ref.create_functional_model(),
  'variable': ref.create_variable_model,
}


def setUpModule():
  contexts.set_default_context()


@functools.cache
def _build(kind='functional'):
  return algorithms.build_fed_dyn(
    _MODELS[kind],
    tff.learning.optimizers.build_sgdm(_RATE),
    num_clients=len(client_state_rounds.SIZES),
    regularization=_ALPHA,
  )


class _Reference:
  """Algorithm 1 in NumPy, with h and g as the paper has them."""

  def __init__(self, start):
    self.weights = [np.float64(w) for w in start]
    self.h = [np.zeros_like(w) for w in self.weights]
    zeros = [np.zeros_like(w) for w in self.weights]
    self.gradients = dict.fromkeys(client_state_rounds.SIZES, zeros)

  def run(self, cohort):
    trained = {}
    for client in cohort:
      w, g = list(self.weights), self.gradients[client]
      for batch in client_state_rounds.DATA[client] * _EPOCHS:
        w = [
          t - _RATE * (d - own + _ALPHA * (t - s))
          for t, d, own, s in zip(w, ref.gradients(w, *batch), g, self.weights)
        ]
      trained[client] = w
      self.gradients[client] = [
        own - _ALPHA * (t - s) for own, t, s in zip(g, w, self.weights)
      ]
    for i, start in enumerate(self.weights):
      ends = [w[i] for w in trained.values()]
      drift = sum(end - start for end in ends)
      self.h[i] = self.h[i] - _ALPHA / len(self.gradients) * drift
      self.weights[i] = np.mean(ends, axis=0) - self.h[i] / _ALPHA


class FedDynTest(client_state_rounds.TestCase, parameterized.TestCase):
  def test_follows_numpy_with_partial_participation(self):
    self._check_follows_numpy('functional')

  @pytest.mark.thorough
  def test_a_variable_model_follows_numpy(self):
    self._check_follows_numpy('variable')

  def _check_follows_numpy(self, kind):
    run = client_state_rounds.Rounds(_build(kind), epochs=_EPOCHS)
    reference = _Reference(run.server())
    for cohort in client_state_rounds.COHORTS:
      metrics = run.run(cohort)
      reference.run(cohort)
      self.assert_close(run.server(), reference.weights)
      for client, state in run.clients.items():
        self.assert_close(state, reference.gradients[client])
      self.assertEqual(metrics['client_work']['excluded_clients'], 0)
    # Else the steps of FedProx would have passed.
    self.assertGreater(max(np.abs(h).max() for h in reference.h), 0.01)

  def test_a_diverged_and_an_empty_client_change_nothing(self):
    self.check_leaves_out(
      *(client_state_rounds.Rounds(_build(), epochs=_EPOCHS) for _ in range(2))
    )

  def test_a_round_of_nobody_changes_nothing(self):
    run = client_state_rounds.Rounds(_build(), epochs=_EPOCHS)
    run.run('ab')
    before = run.server()
    state = run.state['finalizer']
    run.run('cd', {'c': [], 'd': []})
    self.assert_same(run.server(), before)
    self.assert_same(run.state['finalizer'], state)

  def test_ends_at_the_optimum_of_the_mean_loss(self):
    """Where FedAvg with as many local steps does not."""
    rng = np.random.default_rng(0)
    clients = []
    for target, scale in ((3.0, 1.0), (-1.0, 0.4), (0.5, 1.6)):
      x = np.float32(rng.normal(size=(6, 2)) * scale)
      clients.append(
        (x, np.float32(x @ [target, -target] + rng.normal(size=6)))
      )
    model = client_state_rounds.create_regression()
    optimizer = tff.learning.optimizers.build_sgdm(0.2)
    data = [
      tf.data.Dataset.from_tensor_slices(c).batch(6).repeat(10) for c in clients
    ]
    dyn = algorithms.build_fed_dyn(
      model, optimizer, num_clients=3, regularization=0.5
    )
    avg = algorithms.build_fed_avg(model, optimizer)
    state, averaged = dyn.initialize(), avg.initialize()
    states = [dyn.initialize_client(state)] * 3
    for _ in range(60):
      state, states, _ = dyn.next(state, states, data)
      averaged, _ = avg.next(averaged, data)
    x, y = (np.concatenate(parts) for parts in zip(*clients))
    optimum = np.linalg.lstsq(np.float64(x), np.float64(y), rcond=None)[0]
    found, of_avg = (
      process.get_model_weights(end).trainable[0]
      for process, end in ((dyn, state), (avg, averaged))
    )
    np.testing.assert_allclose(found, optimum, atol=1e-4)
    self.assertGreater(np.abs(of_avg - optimum).max(), 0.01)

  @parameterized.parameters(
    ({'num_clients': 0}, '^num_clients must be 1 or more, got 0'),
    ({'regularization': 0.0}, '^regularization must be positive and finite'),
    ({'regularization': np.inf}, '^regularization must be positive and fin'),
  )
  def test_refuses(self, changes, message):
    arguments = {'num_clients': 4, 'regularization': 0.1} | changes
    with self.assertRaisesRegex(errors.InputError, message):
      algorithms.build_fed_dyn(
        _MODELS['functional'],
        tff.learning.optimizers.build_sgdm(_RATE),
        **arguments,
      )
