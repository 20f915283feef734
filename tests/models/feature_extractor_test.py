# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of feature extractors."""

import dataclasses

from fedfish_tff import errors
from fedfish_tff.models import feature_extractor
from tests import tolerance

from absl.testing import parameterized
import numpy as np
import tensorflow as tf


def _create(**changes):
  """Features max(x W, 0) of four numbers."""
  weights = np.random.default_rng(0).standard_normal([4, 3])
  extractor = feature_extractor.FeatureExtractor(
    name='tiny',
    architecture='relu of a product',
    input_spec=tf.TensorSpec([None, 4], tf.float32),
    num_features=3,
    weights=(weights.astype(np.float32),),
    apply=lambda weights, x: tf.nn.relu(tf.matmul(x, weights[0])),
  )
  return dataclasses.replace(extractor, **changes)


class FeatureExtractorTest(parameterized.TestCase):
  @parameterized.parameters(0, 1, 5, 32, 77)
  def test_extract(self, num_inputs):
    extractor = _create()
    x = np.random.default_rng(1).standard_normal([num_inputs, 4])
    x = x.astype(np.float32)
    features = extractor.extract(x, batch_size=5)
    self.assertEqual(features.dtype, np.float32)
    tolerance.assert_close(
      features,
      np.maximum(x @ extractor.weights[0], 0),
      relative=tolerance.FLOAT32_SUMS,
    )

  def test_casts_what_loses_nothing(self):
    x = np.arange(8).reshape(2, 4)
    extractor = _create()
    np.testing.assert_array_equal(
      extractor.extract(x.astype(np.uint8)),
      extractor.extract(x.astype(np.float32)),
    )
    with self.assertRaisesRegex(
      errors.InputError, r"'tiny' was given int64\[2, 4\]; float32\[None, 4\]"
    ):
      extractor.extract(x)

  @parameterized.parameters(((2, 3),), ((4,),), ((1, 4, 1),))
  def test_inputs_of_another_shape(self, shape):
    with self.assertRaisesRegex(errors.InputError, r'float32\[None, 4\] was'):
      _create().extract(np.zeros(shape, np.float32))

  def test_features_that_are_not_finite(self):
    x = np.ones([5, 4], np.float32)
    x[3, 1] = np.nan
    with self.assertRaisesRegex(
      errors.InputError, "'tiny' gives 1 of 5 inputs features that are NaN"
    ):
      _create(apply=lambda w, x: tf.matmul(x, w[0])).extract(x)

  def test_split_of_unknown_layers(self):
    for extractor in (
      _create(),
      feature_extractor.with_unit_features(_create()),
    ):
      with self.assertRaisesRegex(
        errors.InputError,
        "'tiny' cannot be split before layer 'relu'; a network whose layers",
      ):
        extractor.split('relu')

  def test_split_with_unit_features(self):
    product = _create(apply=lambda w, x: tf.matmul(x, w[0]))
    relu = _create(
      input_spec=tf.TensorSpec([None, 3], tf.float32),
      weights=(),
      apply=lambda w, x: tf.nn.relu(x),
    )
    whole = feature_extractor.with_unit_features(
      _create(layers=('relu',), divide=lambda layer: (product, relu))
    )
    lower, upper = whole.split('relu')
    x = np.random.default_rng(1).standard_normal([9, 4]).astype(np.float32)
    between = lower.extract(x)
    tolerance.assert_close(
      between, x @ product.weights[0], relative=tolerance.FLOAT32_SUMS
    )
    tolerance.assert_close(
      upper.extract(between), whole.extract(x), relative=tolerance.FLOAT32_SUMS
    )

  def test_fingerprint(self):
    fingerprint = _create().fingerprint
    self.assertEqual(fingerprint, _create(name='other').fingerprint)
    (weights,) = _create().weights
    changed = np.copy(weights)
    changed[2, 2] += 1e-6
    for changes in (
      {'architecture': 'product'},
      {'weights': (changed,)},
      {'weights': (weights.T,)},
      {'input_spec': tf.TensorSpec([None, 4], tf.uint8)},
    ):
      self.assertNotEqual(fingerprint, _create(**changes).fingerprint)

  def test_unit_features(self):
    x = np.random.default_rng(1).standard_normal([6, 4]).astype(np.float32)
    x[2] = 0
    extractor = _create()
    features = extractor.extract(x)
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    self.assertGreater(np.count_nonzero(lengths), 3)
    unit = feature_extractor.with_unit_features(extractor)
    tolerance.assert_close(
      unit.extract(x),
      features / np.where(lengths > 0, lengths, 1),
      relative=tolerance.FLOAT32_SUMS,
    )
    self.assertNotEqual(unit.fingerprint, extractor.fingerprint)

  def test_resize_images(self):
    images = np.array([[[[0], [10]], [[20], [30]]]], np.uint8)
    resized = feature_extractor.resize_images(tf.constant(images), 4)
    # Values lie in the middle of pixels; the border repeats.
    row = np.array([0, 2.5, 7.5, 10])
    np.testing.assert_allclose(
      resized[0, :, :, 0], row + 2 * row[:, np.newaxis]
    )
    same = feature_extractor.resize_images(tf.constant(images), 2)
    np.testing.assert_array_equal(same, images)
    self.assertEqual(same.dtype, tf.float32)
