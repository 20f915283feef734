# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The proximal optimizer, step by step, around other optimizers."""

import collections

from fedfish_tff import errors
from fedfish_tff.client_work import gradient_transforms
from fedfish_tff.client_work import proximal
from tests import tolerance

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_STRENGTH = 0.5
_WEIGHTS = collections.OrderedDict(
  kernel=np.array([[1.0, -2.0]], np.float32), bias=np.array([3.0], np.float32)
)


def _steps(optimizer, weights, gradients):
  """Takes a step a gradient; returns the weights after each."""
  specs = tf.nest.map_structure(
    lambda w: tf.TensorSpec(w.shape, w.dtype), weights
  )
  weights = tf.nest.map_structure(tf.constant, weights)
  state, results = optimizer.initialize(specs), []
  for gradient in gradients:
    state, weights = optimizer.next(state, weights, gradient)
    results.append(tf.nest.map_structure(np.asarray, weights))
  return results


def _like(value):
  return tf.nest.map_structure(
    lambda w: tf.constant(value, tf.float32, w.shape), _WEIGHTS
  )


class ProximalOptimizerTest(parameterized.TestCase):
  @parameterized.parameters(
    tff.learning.optimizers.build_adam(0.1),
    tff.learning.optimizers.build_sgdm(0.1, momentum=0.9),
    tff.learning.optimizers.build_yogi(0.1),
  )
  def test_the_inner_optimizer_gets_the_gradient_with_the_pull(self, inner):
    gradients = [_like(g) for g in (1.0, -0.5, 0.25)]
    actual = _steps(
      proximal.build_proximal_optimizer(inner, _STRENGTH), _WEIGHTS, gradients
    )
    specs = tf.nest.map_structure(
      lambda w: tf.TensorSpec(w.shape, w.dtype), _WEIGHTS
    )
    state = inner.initialize(specs)
    weights = tf.nest.map_structure(tf.constant, _WEIGHTS)
    for gradient, result in zip(gradients, actual):
      pulled = tf.nest.map_structure(
        lambda g, w, s: g + _STRENGTH * (w - s), gradient, weights, _WEIGHTS
      )
      state, weights = inner.next(state, weights, pulled)
      for name in _WEIGHTS:
        tolerance.assert_close(
          result[name], weights[name], relative=tolerance.FLOAT32
        )

  def test_steps_of_a_start_are_the_same_to_the_bit(self):
    gradients = [_like(g) for g in (1.0, -0.5, 0.25)]
    optimizer = tff.learning.optimizers.build_adam(0.1)
    optimizer = gradient_transforms.build_weight_decay_optimizer(optimizer, 0.1)
    optimizer = proximal.build_proximal_optimizer(optimizer, _STRENGTH)
    optimizer = gradient_transforms.build_weight_decay_optimizer(optimizer, 0.2)
    started = optimizer.started_at(
      list(map(tf.constant, tf.nest.flatten(_WEIGHTS)))
    )
    tf.nest.map_structure(
      np.testing.assert_array_equal,
      _steps(started, _WEIGHTS, gradients),
      _steps(optimizer, _WEIGHTS, gradients),
    )

  def test_gradients_that_are_sparse_or_missing(self):
    optimizer = proximal.build_proximal_optimizer(
      tff.learning.optimizers.build_sgdm(0.1), _STRENGTH
    )
    weights = (np.ones([3, 2], np.float32), np.ones([2], np.float32))
    sparse = tf.IndexedSlices(
      tf.ones([1, 2]), tf.constant([1]), tf.constant([3, 2])
    )
    first, second = _steps(optimizer, weights, [(sparse, None)] * 2)
    tolerance.assert_close(
      first[0], [[1, 1], [0.9, 0.9], [1, 1]], relative=tolerance.FLOAT32
    )
    tolerance.assert_close(
      second[0], [[1, 1], [0.805, 0.805], [1, 1]], relative=tolerance.FLOAT32
    )
    np.testing.assert_array_equal(second[1], weights[1])

  def test_without_strength_nothing_is_wrapped(self):
    inner = tff.learning.optimizers.build_sgdm(0.1)
    self.assertIs(proximal.build_proximal_optimizer(inner, 0.0), inner)
    self.assertFalse(proximal.is_proximal(inner))
    pulled = proximal.build_proximal_optimizer(inner, 0.1)
    self.assertTrue(proximal.is_proximal(pulled))
    wrapped = gradient_transforms.build_weight_decay_optimizer(pulled, 0.1)
    self.assertTrue(proximal.is_proximal(wrapped))

  def test_hyper_parameters_are_the_inner_ones(self):
    inner = tff.learning.optimizers.build_sgdm(0.1, momentum=0.9)
    optimizer = proximal.build_proximal_optimizer(inner, _STRENGTH)
    state = optimizer.initialize(tf.TensorSpec([2]))
    hparams = optimizer.get_hparams(state)
    self.assertEqual(hparams, {'learning_rate': 0.1, 'momentum': 0.9})
    hparams['learning_rate'] = 0.0
    changed = optimizer.set_hparams(state, hparams)
    _, weights = optimizer.next(changed, tf.ones([2]), tf.ones([2]))
    np.testing.assert_array_equal(weights, [1, 1])
    self.assertEqual(optimizer.get_hparams(state)['learning_rate'], 0.1)

  def test_bad_arguments(self):
    with self.assertRaisesRegex(errors.InputError, 'got -1'):
      proximal.build_proximal_optimizer(
        tff.learning.optimizers.build_sgdm(0.1), -1
      )
    with self.assertRaisesRegex(TypeError, 'optimizer must be'):
      proximal.build_proximal_optimizer(tf.keras.optimizers.SGD(0.1), 1.0)


class PullToTest(absltest.TestCase):
  def test_steps_of_sgd(self):
    weights = (np.array([1.0, -2.0], np.float32),)
    center = (tf.constant([0.0, 2.0]),)
    sgd = tff.learning.optimizers.build_sgdm(0.1)
    first, second = _steps(
      proximal.pull_to(sgd, _STRENGTH, center),
      weights,
      [(tf.constant([1.0, 0.0]),)] * 2,
    )
    # -0.1 (1 + 0.5 * 1) and -0.1 (0.5 * -4); then likewise from there.
    tolerance.assert_close(first[0], [0.85, -1.8], relative=tolerance.FLOAT32)
    tolerance.assert_close(
      second[0], [0.7075, -1.61], relative=tolerance.FLOAT32
    )
    self.assertIs(proximal.pull_to(sgd, 0.0, center), sgd)
