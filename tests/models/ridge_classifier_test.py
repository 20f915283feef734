# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The classifier on features against NumPy."""

from fedfish_tff import errors
from fedfish_tff import models
from tests import tolerance

from absl.testing import parameterized
import numpy as np
from scipy import special
import tensorflow as tf
import tensorflow_federated as tff


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
