# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of ensembles, layers and linear models."""

from fedfish_tff import errors
from fedfish_tff import models
from fedfish_tff.datasets import random_streams
from fedfish_tff.models import layers
from fedfish_tff.models import supervised
from tests import tolerance
from tests.models import model_checks

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
from scipy import special
from scipy import stats
import tensorflow as tf
import tensorflow_federated as tff


class EnsembleTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.model = models.create_mlp_classifier(
      num_features=4, num_classes=3, hidden_units=(5,), seed=0
    )

  def test_predicts_the_mean(self):
    rng = np.random.default_rng(0)
    weights = self.model.initial_weights[0]
    members = [
      [rng.normal(size=w.shape).astype(np.float32) for w in weights]
      for _ in range(3)
    ]
    ensemble = models.create_ensemble(self.model, members)
    x = rng.normal(size=[7, 4]).astype(np.float32)
    found = ensemble.predict_on_batch(
      ensemble.initial_weights, x, training=False
    )
    expected = np.mean(
      [
        special.softmax(np.maximum(x @ k1 + b1, 0) @ k2 + b2, axis=1)
        for k1, b1, k2, b2 in members
      ],
      axis=0,
    )
    np.testing.assert_allclose(np.exp(found), expected, rtol=1e-4, atol=1e-6)

  def test_of_nobody(self):
    with self.assertRaisesRegex(errors.InputError, 'members .*none'):
      models.create_ensemble(self.model, [])


class LayersTest(parameterized.TestCase):
  def test_sizes(self):
    layers.check_sizes(filters=(1, np.int64(2)), units=())
    for value in (0, -1, 1.5, '3', None):
      with self.assertRaisesRegex(
        errors.InputError, f'units must be a positive integer, got {value!r}'
      ):
        layers.check_sizes(filters=(1,), units=(2, value))

  def test_image_shapes(self):
    layers.check_image_shape((1, 2, 3))
    layers.check_image_shape([6, 7, 1], least=6)

  @parameterized.parameters(
    ((28, 28), 1, 'height, width and channels.*2'),
    ((1, 28, 28, 1), 1, r'4 size\(s\)'),
    ((28, 28, 0), 1, 'input_shape .*0'),
    ((6, 5, 1), 6, 'images of at least 6x6.*6x5'),
  )
  def test_bad_image_shapes(self, shape, least, regex):
    with self.assertRaisesRegex(errors.InputError, regex):
      layers.check_image_shape(shape, least=least)

  @parameterized.parameters(
    (((7, 5), (5, 3)),), (((5, 5, 3, 8), (3, 3, 8, 4), (64, 2)),)
  )
  def test_glorot_weights(self, shapes):
    weights = layers.glorot_weights(shapes, 4)
    pairs = layers.kernels_and_biases(weights)
    self.assertLen(pairs, len(shapes))
    for number, (shape, (kernel, bias)) in enumerate(zip(shapes, pairs)):
      fan_in = np.prod(shape[:-1])
      fan_out = np.prod(shape[:-2]) * shape[-1]
      stream = random_streams.random_generator('initial weights', 4, number)
      unit = stream.uniform(-1, 1, shape)
      np.testing.assert_allclose(
        kernel, np.sqrt(6 / (fan_in + fan_out)) * unit, rtol=1e-5
      )
      np.testing.assert_array_equal(bias, np.zeros(shape[-1]))
      self.assertEqual((kernel.dtype, bias.dtype), (np.float32, np.float32))

  def test_embedding(self):
    table = layers.draw_embedding(99, 40, 0)
    self.assertEqual((table.shape, table.dtype), ((99, 40), np.float32))
    test = stats.kstest(table.ravel() * np.sqrt(40), 'norm')
    self.assertGreater(test.pvalue, 1e-3)
    np.testing.assert_array_equal(table, layers.draw_embedding(99, 40, 0))


class LinearRepresentationTest(absltest.TestCase):
  def test_is_a_function_of_a_random_subspace(self):
    model = models.create_linear_representation(
      num_features=5, num_components=2, seed=3
    )
    (basis, head), _ = model.initial_weights
    self.assertEqual((basis.shape, head.shape), ((5, 2), (2, 1)))
    np.testing.assert_allclose(basis.T @ basis, np.eye(2), atol=1e-6)
    np.testing.assert_array_equal(head, 0)
    rng = np.random.default_rng(0)
    x = rng.normal(size=[4, 5]).astype(np.float32)
    y = rng.normal(size=[4, 1]).astype(np.float32)
    head = np.array([[1.0], [-2.0]], np.float32)
    output = model.predict_on_batch(((basis, head), ()), x, training=False)
    np.testing.assert_allclose(output, x @ basis @ head, rtol=1e-5)
    error = np.mean((x @ basis @ head - y) ** 2)
    np.testing.assert_allclose(model.loss(output, y), error / 2, rtol=1e-5)

  def test_refuses_more_components_than_features(self):
    with self.assertRaisesRegex(
      errors.InputError, 'at most num_features, 3, got 4'
    ):
      models.create_linear_representation(
        num_features=3, num_components=4, seed=0
      )


class FeatureClassifierTest(parameterized.TestCase):
  @parameterized.parameters(1.0, 0.1)
  def test_logits_and_loss_are_divided_by_the_temperature(self, temperature):
    rng = np.random.default_rng(0)
    features = models.create_dense_features(
      num_inputs=4, hidden_units=[5], seed=0
    )
    model = models.create_feature_classifier(
      features, num_classes=3, temperature=temperature
    )
    x = rng.normal(size=[6, 4]).astype(np.float32)
    y = rng.integers(0, 3, 6).astype(np.int32)
    kernel, bias = rng.normal(size=[5, 3]), rng.normal(size=[3])
    weights = models.with_classifier(features, kernel, bias)
    self.assertIsInstance(weights, tff.learning.models.ModelWeights)
    w, b = features.initial_weights
    expected = (np.maximum(x @ w + b, 0) @ kernel + bias) / temperature
    logits = model.predict_on_batch(
      (weights.trainable, ()), tf.constant(x), training=False
    )
    np.testing.assert_allclose(logits, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
      model.loss(logits, tf.constant(y)),
      -special.log_softmax(expected, axis=1)[np.arange(6), y].mean(),
      rtol=1e-4,
    )

  def test_starts_with_the_map_s_weights_and_a_classifier_of_zeros(self):
    features = models.create_dense_features(
      num_inputs=4, hidden_units=[5], seed=0
    )
    model = models.create_feature_classifier(features, num_classes=3)
    *extractor, kernel, bias = model.initial_weights[0]
    self.assertLen((kernel, bias), models.NUM_CLASSIFIER_TENSORS)
    tolerance.assert_same(extractor, features.initial_weights)
    np.testing.assert_array_equal(kernel, np.zeros([5, 3], np.float32))
    np.testing.assert_array_equal(bias, np.zeros([3], np.float32))

  def test_bad_arguments(self):
    features = models.create_identity_features(4)
    for arguments, message in (
      (dict(num_classes=0), 'num_classes .*0'),
      (dict(num_classes=2, temperature=0.0), 'temperature .*0.0'),
      (
        dict(num_classes=2, temperature=np.inf),
        'temperature must be .*got inf',
      ),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        models.create_feature_classifier(features, **arguments)


class SupervisedTest(absltest.TestCase):
  def test_classifier(self):
    rng = np.random.default_rng(0)
    kernel = rng.normal(size=[6, 4]).astype(np.float32)
    model = supervised.create_classifier(
      lambda weights, x, training: tf.reshape(x, [-1, 6]) @ weights[0],
      [kernel],
      input_shape=[2, 3],
    )
    self.assertEqual(
      model.input_spec,
      (
        tf.TensorSpec([None, 2, 3], tf.float32),
        tf.TensorSpec([None], tf.int32),
      ),
    )
    x = rng.normal(size=[7, 2, 3]).astype(np.float32)
    y = rng.integers(0, 4, 7).astype(np.int32)
    metrics = model_checks.measure(model, [(x[:5], y[:5]), (x[5:], y[5:])])
    logits = (x.reshape(7, 6) @ kernel).astype(np.float64)
    losses = np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(7), y]
    np.testing.assert_allclose(metrics['loss'], losses.mean(), rtol=1e-5)
    np.testing.assert_allclose(
      metrics['accuracy'], np.mean(logits.argmax(axis=1) == y), rtol=1e-6
    )
    self.assertEqual(metrics['num_examples'], 7)
    sample_weight = rng.random(7)
    np.testing.assert_allclose(
      model.loss(logits.astype(np.float32), y, sample_weight),
      (losses * sample_weight).sum() / 7,
      rtol=1e-5,
    )

  def test_training_is_passed_on(self):
    model = supervised.create_supervised_model(
      lambda weights, x, training: x * (2.0 if training else 1.0) + weights[0],
      [np.zeros([1], np.float32)],
      example_loss=lambda output, label: tf.abs(output - label)[:, 0],
      metrics={'signed': lambda output, label: (output - label)[:, 0]},
      input_spec=(tf.TensorSpec([None, 1]), tf.TensorSpec([None, 1])),
    )
    x = np.array([[1.0], [3.0]], np.float32)
    for training, expected in ((True, 2 * x), (False, x)):
      output = model.predict_on_batch(
        model.initial_weights, x, training=training
      )
      np.testing.assert_array_equal(output, expected)
    self.assertEqual(model.loss(x, 0 * x).numpy(), 2)
    self.assertEqual(
      model_checks.measure(model, [(x, x + 1), (x, x - 2)]),
      {'loss': 1.5, 'signed': 0.5, 'num_examples': 4},
    )
