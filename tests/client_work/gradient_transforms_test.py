# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Weight decay against the penalised loss, by NumPy."""

from fedfish_tff import client_work
from fedfish_tff import errors
from tests import tolerance

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


def _steps(optimizer, start, gradients):
  weights = (tf.constant(start),)
  state = optimizer.initialize((tf.TensorSpec(start.shape, tf.float32),))
  for gradient in gradients:
    state, weights = optimizer.next(state, weights, (gradient,))
  return weights[0].numpy()


class TransformGradientsTest(absltest.TestCase):
  def test_the_inner_optimizer_gets_what_the_transform_returns(self):
    start = np.float32([1, 2])
    sparse = tf.IndexedSlices(tf.ones([1]), tf.constant([1]), tf.constant([2]))
    # In the order in which they are wrapped: 2 (g + w).
    inner = client_work.transform_gradients(
      tff.learning.optimizers.build_sgdm(0.5), lambda _, g: [2 * g[0]]
    )
    outer = client_work.transform_gradients(inner, lambda w, g: [g[0] + w[0]])
    np.testing.assert_array_equal(_steps(outer, start, [sparse]), [0, -1])
    with self.subTest('of all wrapped optimizers'):
      (found,) = client_work.gradients_of_steps(
        client_work.build_rate_parameter_optimizer(outer, 'rate'),
        (tf.constant(start),),
        (tf.constant([0.0, 1.0]),),
      )
      np.testing.assert_array_equal(found, [2, 6])


class WeightDecayTest(parameterized.TestCase):
  @parameterized.parameters(0.0, 0.9)
  def test_steps_are_of_the_penalised_loss(self, momentum):
    rng = np.random.default_rng(0)
    start = rng.normal(size=[3, 2]).astype(np.float32)
    gradients = rng.normal(size=[4, 3, 2]).astype(np.float32)
    rate, decay = 0.1, 0.5
    actual = _steps(
      client_work.build_weight_decay_optimizer(
        tff.learning.optimizers.build_sgdm(rate, momentum or None), decay
      ),
      start,
      [tf.constant(g) for g in gradients],
    )
    weights, velocity = start.astype(np.float64), 0.0
    for gradient in gradients:
      velocity = momentum * velocity + gradient + decay * weights
      weights = weights - rate * velocity
    tolerance.assert_close(actual, weights)

  @parameterized.parameters(
    tff.learning.optimizers.build_sgdm(0.1),
    tff.learning.optimizers.build_sgdm(0.1, 0.9),
    tff.learning.optimizers.build_adam(0.1),
  )
  def test_weights_that_the_loss_does_not_depend_on_stay(self, inner):
    optimizer = client_work.build_weight_decay_optimizer(inner, 0.5)
    spec = tf.TensorSpec([2], tf.float32)
    weights = (tf.ones([2]), tf.ones([2]))
    state = optimizer.initialize((spec, spec))
    for _ in range(2):
      state, weights = optimizer.next(state, weights, (None, tf.zeros([2])))
    np.testing.assert_array_equal(weights[0], [1, 1])
    # What has a gradient of zero decays.
    np.testing.assert_array_less(weights[1], 0.95)

  def test_hyper_parameters_are_the_inner_optimizer_s(self):
    optimizer = client_work.build_weight_decay_optimizer(
      tff.learning.optimizers.build_sgdm(0.1), 0.5
    )
    state = optimizer.initialize((tf.TensorSpec([2], tf.float32),))
    hparams = optimizer.get_hparams(state)
    self.assertAlmostEqual(hparams['learning_rate'], 0.1)
    hparams['learning_rate'] = 0.2
    changed = optimizer.set_hparams(state, hparams)
    self.assertAlmostEqual(changed['learning_rate'], 0.2)

  def test_without_decay_it_is_the_optimizer_itself(self):
    sgd = tff.learning.optimizers.build_sgdm(0.1)
    self.assertIs(client_work.build_weight_decay_optimizer(sgd, 0.0), sgd)

  @parameterized.parameters(-1.0, np.nan, np.inf)
  def test_bad_decay(self, decay):
    with self.assertRaisesRegex(
      errors.InputError, f'weight_decay must be .*got {decay}'
    ):
      client_work.build_weight_decay_optimizer(
        tff.learning.optimizers.build_sgdm(0.1), decay
      )
