# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Extractors as feature maps."""

from fedfish_tff import errors
from fedfish_tff import models

from absl.testing import absltest
import numpy as np
import tensorflow as tf


class ExtractorFeaturesTest(absltest.TestCase):
  def test_is_the_extractor_in_a_model(self):
    extractor = models.FeatureExtractor(
      name='sums',
      architecture='sums of pixels, scaled',
      input_spec=tf.TensorSpec([None, None, None, 3], tf.uint8),
      num_features=3,
      weights=(np.array([1.0, 2.0, 3.0], np.float32),),
      apply=lambda weights, x: (
        weights[0] * tf.reduce_sum(tf.cast(x, tf.float32), axis=[1, 2])
      ),
    )
    features = models.create_extractor_features(
      extractor, input_shape=(2, 2, 3)
    )
    self.assertEqual(features.input_dtype, tf.uint8)
    images = np.random.default_rng(1).integers(0, 256, [5, 2, 2, 3], np.uint8)
    np.testing.assert_allclose(
      features(features.initial_weights, tf.constant(images), False),
      extractor.extract(images),
    )
    model = models.create_feature_classifier(features, num_classes=2)
    self.assertEqual(model.input_spec[0].dtype, tf.uint8)
    with self.assertRaisesRegex(errors.InputError, r'input_shape is \[2, 2\]'):
      models.create_extractor_features(extractor, input_shape=(2, 2))
