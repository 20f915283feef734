# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the multilayer perceptrons."""

from fedfish_tff import errors
from fedfish_tff.models import dense
from tests import tolerance
from tests.models import model_checks

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
from scipy import stats
import tensorflow as tf


def _classifier(**kwargs):
  return dense.create_mlp_classifier(
    **{
      **dict(num_features=3, num_classes=4, hidden_units=(5,), seed=0),
      **kwargs,
    }
  )


def _regressor(**kwargs):
  return dense.create_mlp_regressor(
    **{**dict(hidden_units=(5, 4), seed=0), **kwargs}
  )


def _softmax(logits):
  shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
  return shifted / shifted.sum(axis=1, keepdims=True)


def _numpy_gradient(weights, x, y, kind):
  """Loss and gradients by hand-written backpropagation in float64."""
  weights = [w.astype(np.float64) for w in weights]
  layers = list(zip(weights[::2], weights[1::2]))
  inputs = []
  for i, (kernel, bias) in enumerate(layers):
    inputs.append(x)
    x = x @ kernel + bias
    if i < len(layers) - 1:
      x = np.maximum(x, 0) if kind == 'classifier' else np.tanh(x)
  n = len(x)
  if kind == 'classifier':
    probabilities = _softmax(x)
    loss = -np.log(probabilities[np.arange(n), y]).mean()
    upstream = (probabilities - np.eye(x.shape[1])[y]) / n
  else:
    loss = ((x - y) ** 2).mean()
    upstream = 2 * (x - y) / x.size
  gradients = []
  for i in reversed(range(len(layers))):
    gradients = [inputs[i].T @ upstream, upstream.sum(axis=0)] + gradients
    upstream = upstream @ layers[i][0].T
    if kind == 'classifier':
      upstream = upstream * (inputs[i] > 0)
    else:
      upstream = upstream * (1 - inputs[i] ** 2)
  return loss, gradients


def _tf_gradient(model, x, y):
  trainable = tuple(tf.constant(w) for w in model.initial_weights[0])
  with tf.GradientTape() as tape:
    tape.watch(trainable)
    output = model.predict_on_batch((trainable, ()), x, training=True)
    loss = model.loss(output, y)
  return loss.numpy(), [g.numpy() for g in tape.gradient(loss, trainable)]


class ClassifierTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    rng = np.random.default_rng(0)
    self._x = rng.normal(size=[7, 3]).astype(np.float32)
    self._y = rng.integers(0, 4, 7).astype(np.int32)

  @parameterized.parameters(((5,),), ((6, 5),), ((),))
  def test_gradient_equals_numpy_backpropagation(self, hidden_units):
    model = _classifier(hidden_units=hidden_units)
    loss, gradients = _tf_gradient(model, self._x, self._y)
    expected_loss, expected = _numpy_gradient(
      model.initial_weights[0], self._x, self._y, 'classifier'
    )
    tolerance.assert_close(loss, expected_loss)
    tolerance.assert_all_close(gradients, expected)


class RegressorTest(parameterized.TestCase):
  @parameterized.parameters(1, 3)
  def test_gradient_and_metrics_equal_numpy(self, num_targets):
    rng = np.random.default_rng(1)
    x = rng.normal(size=[6, 2]).astype(np.float32)
    y = rng.normal(size=[6, num_targets]).astype(np.float32)
    model = _regressor(num_features=2, num_targets=num_targets)
    loss, gradients = _tf_gradient(model, x, y)
    expected_loss, expected = _numpy_gradient(
      model.initial_weights[0], x, y, 'regressor'
    )
    tolerance.assert_close(loss, expected_loss)
    tolerance.assert_all_close(gradients, expected)
    metrics = model_checks.measure(model, [(x[:4], y[:4]), (x[4:], y[4:])])
    tolerance.assert_close(metrics['mse'], expected_loss)
    self.assertEqual(metrics['loss'], metrics['mse'])
    self.assertEqual(metrics['num_examples'], 6)


class InitialWeightsTest(parameterized.TestCase):
  def test_draws_are_those_of_earlier_versions(self):
    ((kernel, *_), _) = _classifier().initial_weights
    np.testing.assert_allclose(
      kernel[0, :3], [0.22509116, -0.34996279, 0.42562515], rtol=1e-6
    )


class LocalUnitsTest(parameterized.TestCase):
  def test_gaussian_units(self):
    model = _regressor(activation='gaussian', hidden_units=(5,))
    kernel, bias, output_kernel, output_bias = model.initial_weights[0]
    x = np.linspace(-2, 2, 9, dtype=np.float32)[:, np.newaxis]
    x = np.tile(x, [1, len(kernel)])
    hidden = np.exp(-((x @ kernel + bias) ** 2))
    np.testing.assert_allclose(
      model.predict_on_batch(model.initial_weights, x, training=False),
      hidden @ output_kernel + output_bias,
      rtol=1e-4,
      atol=1e-5,
    )

  def test_slope(self):
    model = dense.create_mlp_regressor(
      hidden_units=(5000,), seed=0, activation='gaussian', slope=8.0
    )
    kernel, bias, *_ = model.initial_weights[0]
    self.assertAlmostEqual(kernel.std(), 8, delta=0.3)
    centers = np.sort(-bias / kernel[0])
    np.testing.assert_allclose(centers, np.linspace(-2, 2, 5000), atol=0.1)
    with self.assertRaisesRegex(errors.InputError, 'slope must be .* got 0'):
      dense.create_mlp_regressor(hidden_units=(5,), seed=0, slope=0)


class BadInputTest(parameterized.TestCase):
  @parameterized.parameters(
    (
      dict(hidden_units=(10**9,)),
      'hidden_units 1000000000.*most',
    ),
    (dict(num_classes=2 * 10**9), 'num_classes 2000000000 .*most'),
    (dict(activation='softplus2'), "activation .*'softplus2'"),
  )
  def test_classifier(self, kwargs, regex):
    with self.assertRaisesRegex(errors.InputError, regex):
      _classifier(**kwargs)


class SpreadWeightsTest(absltest.TestCase):
  def test_regressors_units_spread_over_the_inputs(self):
    model = dense.create_mlp_regressor(hidden_units=(400, 300), seed=1)
    kernel, bias, hidden_kernel, hidden_bias, _, _ = model.initial_weights[0]
    self.assertGreater(stats.kstest(kernel.ravel(), 'norm').pvalue, 1e-3)
    self.assertGreater(stats.kstest(bias, 'norm').pvalue, 1e-3)
    # Fan-in 400.
    self.assertGreater(
      stats.kstest(20 * hidden_kernel.ravel(), 'norm').pvalue, 1e-3
    )
    self.assertGreater(stats.kstest(10 * hidden_bias, 'norm').pvalue, 1e-3)
