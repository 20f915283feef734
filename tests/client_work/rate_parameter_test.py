# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Optimizers with a replaced rate against optimizers built with that rate."""

from fedfish_tff import client_work
from fedfish_tff import parameters
from fedfish_tff.execution import contexts

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_OPTIMIZERS = tff.learning.optimizers
_SPECS = (tf.TensorSpec([3], tf.float32),)


def _steps(optimizer):
  """Returns a computation that starts the optimizer and takes some steps."""

  @tff.tensorflow.computation(tff.SequenceType(tff.TensorType(np.float32, [3])))
  def steps(gradients):
    def step(state, gradient):
      optimizer_state, weights = state
      return optimizer.next(optimizer_state, weights, (gradient,))

    start = (optimizer.initialize(_SPECS), (tf.ones([3]),))
    return gradients.reduce(start, step)

  return steps


class RateParameterTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('sgd', _OPTIMIZERS.build_sgdm),
    ('momentum', lambda rate: _OPTIMIZERS.build_sgdm(rate, 0.9)),
    ('adam', _OPTIMIZERS.build_adam),
    ('adamw', _OPTIMIZERS.build_adamw),
    ('adagrad', _OPTIMIZERS.build_adagrad),
    ('rmsprop', _OPTIMIZERS.build_rmsprop),
    ('yogi', _OPTIMIZERS.build_yogi),
  )
  def test_steps_are_those_of_an_optimizer_with_the_rate(self, build):
    contexts.set_default_context()
    gradients = tf.data.Dataset.from_tensor_slices(
      np.random.default_rng(0).normal(size=[5, 3]).astype(np.float32)
    )
    steps = _steps(
      client_work.build_rate_parameter_optimizer(build(0.5), 'rate')
    )
    for rate in (0.5, 0.1, 0.037):
      expected = tf.nest.flatten(_steps(build(rate))(gradients))
      with parameters.replaced({'rate': rate}):
        actual = tf.nest.flatten(steps(gradients))
      self.assertEqual(
        [np.asarray(leaf).tolist() for leaf in actual],
        [np.asarray(leaf).tolist() for leaf in expected],
      )

  @parameterized.named_parameters(
    ('sgd', _OPTIMIZERS.build_sgdm),
    ('momentum', lambda rate: _OPTIMIZERS.build_sgdm(rate, 0.9)),
    ('adam', _OPTIMIZERS.build_adam),
    ('nesterov', client_work.build_nesterov),
  )
  def test_a_factor_multiplies_the_rate_of_each_step(self, build):
    """Against the optimizer whose rate is set before each step."""
    contexts.set_default_context()
    optimizer, plain = build(0.5), build(0.5)
    optimizer = client_work.build_rate_parameter_optimizer(
      optimizer, 'rate', factor_name='factor'
    )
    gradients = np.random.default_rng(0).normal(size=[3, 3]).astype(np.float32)

    @tff.tensorflow.computation
    def initialize():
      return optimizer.initialize(_SPECS)

    @tff.tensorflow.computation(
      initialize.type_signature.result,
      (tff.TensorType(np.float32, [3]),),
      (tff.TensorType(np.float32, [3]),),
    )
    def take_step(state, weights, gradient):
      return optimizer.next(state, weights, gradient)

    state, weights = initialize(), (np.ones(3, np.float32),)
    expected_state = plain.initialize(_SPECS)
    expected = (tf.ones([3]),)
    for factor, gradient in zip((1.0, 0.25, 0.5), gradients, strict=True):
      with parameters.replaced({'factor': factor}):
        state, weights = take_step(state, weights, (gradient,))
      hparams = dict(plain.get_hparams(expected_state))
      expected_state = plain.set_hparams(
        expected_state, {**hparams, 'learning_rate': 0.5 * factor}
      )
      expected_state, expected = plain.next(
        expected_state, expected, (tf.constant(gradient),)
      )
      np.testing.assert_allclose(weights[0], expected[0], rtol=1e-6)
    self.assertEqual(optimizer.get_hparams(state)['learning_rate'], 0.5)

  def test_hyper_parameters_are_the_inner_optimizer_s(self):
    optimizer = client_work.build_rate_parameter_optimizer(
      _OPTIMIZERS.build_sgdm(0.5, 0.9), 'rate'
    )
    state = optimizer.set_hparams(
      optimizer.initialize(_SPECS), {'learning_rate': 2.0, 'momentum': 0.25}
    )
    self.assertEqual(
      dict(optimizer.get_hparams(state)),
      {'learning_rate': 2.0, 'momentum': 0.25},
    )

  def test_others_optimizers_are_refused(self):
    with self.assertRaises(TypeError):
      client_work.build_rate_parameter_optimizer(
        tf.keras.optimizers.SGD(0.1), 'rate'
      )
