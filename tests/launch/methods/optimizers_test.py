# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the optimizers that configs name."""

import functools

from fedfish_tff import errors
from launch.configs import digits
from launch.methods import building
from launch.methods import config_checks
from launch.methods import optimizers

from absl.testing import parameterized
import numpy as np
import tensorflow as tf


def _adam(w, gs, rate, *, tau, betas, **_):
  (b1, b2), m, v = betas, 0.0, 0.0
  for t, g in enumerate(gs, 1):
    m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
    correction = np.sqrt(1 - b2**t) / (1 - b1**t)
    w = w - rate * correction * m / (np.sqrt(v) + tau)
    yield w


def _yogi(w, gs, rate, *, tau, betas, **_):
  (b1, b2), m, v = betas, 0.0, tau**2
  for t, g in enumerate(gs, 1):
    m = b1 * m + (1 - b1) * g
    # Its first v is at least tau squared; the sign is of the older one.
    v = v - (1 - b2) * g**2 * np.sign(v - g**2)
    correction = np.sqrt(1 - b2**t) / (1 - b1**t)
    w = w - rate * correction * m / (np.sqrt(v) + tau)
    yield w


def _adagrad(w, gs, rate, *, tau, **_):
  v = tau**2
  for g in gs:
    v = v + g**2
    w = w - rate * g / np.sqrt(v + tau**2)
    yield w


def _rmsprop(w, gs, rate, *, tau, **_):
  v = 0.0
  for g in gs:
    v = 0.9 * v + 0.1 * g**2
    w = w - rate * g / (np.sqrt(v) + tau)
    yield w


def _momentum(w, gs, rate, *, momentum, nesterov=False, **_):
  m = 0.0
  for g in gs:
    m = momentum * m + g
    w = w - rate * (momentum * m + g if nesterov else m)
    yield w


# By the name of the optimizer, the weights after each of some gradients.
_STEPS = {
  name: functools.partial(lambda steps, *args, **kw: [*steps(*args, **kw)], of)
  for name, of in {
    'adam': _adam,
    'yogi': _yogi,
    'adagrad': _adagrad,
    'rmsprop': _rmsprop,
    'sgdm': _momentum,
    'nesterov': functools.partial(_momentum, nesterov=True),
    'sgd': lambda w, gs, rate, **_: iter(
      [w - rate * gs[0], w - rate * sum(gs)]
    ),
  }.items()
}


class OptimizersTest(parameterized.TestCase):
  def test_builds_every_optimizer_with_its_rate(self):
    for name, optimizer in optimizers.OPTIMIZERS.items():
      state = optimizers.build(name, 0.25, parameter='rate').initialize([])
      self.assertAlmostEqual(
        state['learning_rate'], 0.25 * optimizer.scale, msg=name
      )

  def test_no_optimizer_decays_weights_unasked(self):
    weights = (tf.ones([3]),)
    for name in optimizers.OPTIMIZERS:
      optimizer = optimizers.build(name, 0.25, parameter='rate')
      state = optimizer.initialize((tf.TensorSpec([3], tf.float32),))
      _, (after,) = optimizer.next(state, weights, (tf.zeros([3]),))
      np.testing.assert_array_equal(after, weights[0], err_msg=name)

  @parameterized.parameters(
    ('adam', {'server_epsilon': 0.1, 'server_beta_1': 0.8}),
    ('adam', {'server_beta_2': 0.5}),
    ('yogi', {}),
    ('yogi', {'server_beta_1': 0.3, 'server_beta_2': 0.7}),
    ('adagrad', {}),
    ('adagrad', {'server_epsilon': 0.3}),
    ('rmsprop', {'server_epsilon': 0.2}),
    ('sgdm', {}),
    ('nesterov', {'server_momentum': 0.5}),
    ('sgd', {}),
  )
  def test_server_steps_are_those_of_numpy(self, name, changes):
    """Reddi et al. (2021), with TFF's bias correction, and Hsu et al. (2019)."""
    config = digits.get_config(f'fed_avg,server={name}')
    config.algorithm.update(changes)
    parts = building.Ingredients(
      config=config_checks.read(config.to_dict()), task=None
    )
    optimizer = parts.server_optimizer
    state = optimizer.initialize((tf.TensorSpec([3], tf.float32),))
    start = np.array([0.5, -0.25, 1.0])
    gradients = np.array([[1.0, -2.0, 4e-3], [-3.0, 0.5, 2e-3]])
    found, weights = [], (tf.constant(start, tf.float32),)
    for gradient in gradients:
      state, weights = optimizer.next(
        state, weights, (tf.constant(gradient, tf.float32),)
      )
      found.append(weights[0])
    # The published values.
    tau = changes.get('server_epsilon', 1e-3)
    betas = [
      changes.get(f'server_beta_{i}', usual)
      for i, usual in ((1, 0.9), (2, 0.99))
    ]
    expected = _STEPS[name](
      start,
      gradients,
      config.server_learning_rate,
      tau=tau,
      betas=betas,
      momentum=changes.get('server_momentum', 0.9),
    )
    np.testing.assert_allclose(found, expected, rtol=2e-5)

  def test_fields_that_do_nothing_or_divide_by_zero_are_refused(self):
    for variant, field, value in (
      ('fed_avg', 'server_epsilon', 0.1),
      ('fed_avg', 'server_momentum', 0.5),
      ('fed_avg,server=adagrad', 'server_beta_1', 0.5),
      ('fed_avg,server=adam', 'server_momentum', 0.5),
      ('fed_dyn', 'server_beta_2', 0.5),
      ('fed_avg,server=adam', 'server_epsilon', 0.0),
    ):
      config = digits.get_config(variant)
      config.algorithm[field] = value
      with self.assertRaisesRegex(errors.InputError, f'{field} must be'):
        config_checks.read(config.to_dict())

  def test_mean_momentum_is_a_mean_of_gradients(self):
    """m <- 0.9 m + 0.1 g, w <- w - rate m (Karimireddy et al., 2021)."""
    optimizer = optimizers.build('mean_sgdm', 0.5, parameter='rate')
    state = optimizer.initialize((tf.TensorSpec([2], tf.float32),))
    weights, expected, mean = (tf.zeros([2]),), np.zeros(2), np.zeros(2)
    for gradient in ([1.0, -2.0], [3.0, 0.5], [-1.0, 4.0]):
      state, weights = optimizer.next(state, weights, (tf.constant(gradient),))
      mean = 0.9 * mean + 0.1 * np.array(gradient)
      expected = expected - 0.5 * mean
    np.testing.assert_allclose(weights[0], expected, rtol=1e-5)
