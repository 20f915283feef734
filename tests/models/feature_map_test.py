# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Feature maps against NumPy."""

import dataclasses

from fedfish_tff import errors
from fedfish_tff import models
from tests import tolerance

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

_X = np.random.default_rng(0).normal(size=[7, 4]).astype(np.float32)


def _create(**changes):
  """Features max(x W, 0) of four numbers."""
  weights = np.random.default_rng(0).standard_normal([4, 3])
  extractor = models.FeatureMap(
    name='tiny',
    architecture='relu of a product',
    input_spec=tf.TensorSpec([None, 4], tf.float32),
    num_features=3,
    initial_weights=(weights.astype(np.float32),),
    apply=lambda weights, x: tf.nn.relu(tf.matmul(x, weights[0])),
  )
  return dataclasses.replace(extractor, **changes)


class FeatureMapTest(parameterized.TestCase):
  @parameterized.parameters(0, 1, 5, 32, 77)
  def test_extract(self, num_inputs):
    extractor = _create()
    x = np.random.default_rng(1).standard_normal([num_inputs, 4])
    x = x.astype(np.float32)
    features = extractor.extract(x, batch_size=5)
    self.assertEqual(features.dtype, np.float32)
    tolerance.assert_close(
      features, np.maximum(x @ extractor.initial_weights[0], 0)
    )

  def test_casts_what_loses_nothing(self):
    x = np.arange(8).reshape(2, 4)
    extractor = _create()
    np.testing.assert_array_equal(
      extractor.extract(x.astype(np.uint8)),
      extractor.extract(x.astype(np.float32)),
    )
    with self.assertRaisesRegex(errors.InputError, r"'tiny' .*int64\[2, 4\]"):
      extractor.extract(x)

  @parameterized.parameters(((2, 3),), ((4,),), ((1, 4, 1),))
  def test_inputs_of_another_shape(self, shape):
    with self.assertRaisesRegex(errors.InputError, r'float32\[None, 4\]'):
      _create().extract(np.zeros(shape, np.float32))

  def test_features_that_are_not_finite(self):
    x = np.ones([5, 4], np.float32)
    x[3, 1] = np.nan
    with self.assertRaisesRegex(errors.InputError, "'tiny' .*1 of 5 inputs"):
      _create(apply=lambda w, x: tf.matmul(x, w[0])).extract(x)

  def test_split_of_unknown_layers(self):
    for extractor in (
      _create(),
      models.with_unit_features(_create()),
    ):
      with self.assertRaisesRegex(
        errors.InputError,
        "'tiny' cannot be split before layer 'relu'; it must be of a network",
      ):
        extractor.split('relu')

  def test_split_with_unit_features(self):
    product = _create(apply=lambda w, x: tf.matmul(x, w[0]))
    relu = _create(
      input_spec=tf.TensorSpec([None, 3], tf.float32),
      initial_weights=(),
      apply=lambda w, x: tf.nn.relu(x),
    )
    whole = models.with_unit_features(
      _create(layers=('relu',), divide=lambda layer: (product, relu))
    )
    lower, upper = whole.split('relu')
    x = np.random.default_rng(1).standard_normal([9, 4]).astype(np.float32)
    between = lower.extract(x)
    tolerance.assert_close(between, x @ product.initial_weights[0])
    tolerance.assert_close(upper.extract(between), whole.extract(x))

  def test_fingerprint(self):
    fingerprint = _create().fingerprint
    self.assertEqual(fingerprint, _create(name='other').fingerprint)
    (weights,) = _create().initial_weights
    changed = np.copy(weights)
    changed[2, 2] += 1e-6
    for changes in (
      {'architecture': 'product'},
      {'initial_weights': (changed,)},
      {'initial_weights': (weights.T,)},
      {'input_spec': tf.TensorSpec([None, 4], tf.uint8)},
    ):
      self.assertNotEqual(fingerprint, _create(**changes).fingerprint)

  def test_features_without_an_architecture_have_no_fingerprint(self):
    features = _create(architecture='')
    for one in (features, models.with_unit_features(features)):
      with self.assertRaisesRegex(errors.InputError, 'have an architecture'):
        _ = one.fingerprint

  def test_unit_features(self):
    x = np.random.default_rng(1).standard_normal([6, 4]).astype(np.float32)
    x[2] = 0
    extractor = _create()
    features = extractor.extract(x)
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    self.assertGreater(np.count_nonzero(lengths), 3)
    unit = models.with_unit_features(extractor)
    tolerance.assert_close(
      unit.extract(x), features / np.where(lengths > 0, lengths, 1)
    )
    self.assertNotEqual(unit.fingerprint, extractor.fingerprint)

  def test_resize_images(self):
    images = np.array([[[[0], [10]], [[20], [30]]]], np.uint8)
    resized = models.resize_images(tf.constant(images), 4)
    # Values lie in the middle of pixels; the border repeats.
    row = np.array([0, 2.5, 7.5, 10])
    np.testing.assert_allclose(
      resized[0, :, :, 0], row + 2 * row[:, np.newaxis]
    )
    same = models.resize_images(tf.constant(images), 2)
    np.testing.assert_array_equal(same, images)
    self.assertEqual(same.dtype, tf.float32)

  def test_in_a_model_of_inputs_of_one_shape(self):
    extractor = models.FeatureMap(
      name='sums',
      architecture='sums of pixels, scaled',
      input_spec=tf.TensorSpec([None, None, None, 3], tf.uint8),
      num_features=3,
      initial_weights=(np.array([1.0, 2.0, 3.0], np.float32),),
      apply=lambda weights, x: (
        weights[0] * tf.reduce_sum(tf.cast(x, tf.float32), axis=[1, 2])
      ),
    )
    features = extractor.with_input_shape((2, 2, 3))
    images = np.random.default_rng(1).integers(0, 256, [5, 2, 2, 3], np.uint8)
    np.testing.assert_allclose(
      features(features.initial_weights, tf.constant(images)),
      extractor.extract(images),
    )
    model = models.create_feature_classifier(features, num_classes=2)
    self.assertEqual(model.input_spec[0].dtype, tf.uint8)
    with self.assertRaisesRegex(
      errors.InputError, r"shape must be \[None, None, 3\].*'sums' .*\[2, 2\]"
    ):
      extractor.with_input_shape((2, 2))

  def test_identity(self):
    features = models.create_identity_features(4)
    self.assertEqual(features.initial_weights, ())
    np.testing.assert_array_equal(features((), tf.constant(_X)), _X)

  def test_dense(self):
    features = models.create_dense_features(
      num_inputs=4, hidden_units=[6, 5], seed=2
    )
    self.assertEqual(features.num_features, 5)
    w1, b1, w2, b2 = features.initial_weights
    expected = np.maximum(np.maximum(_X @ w1 + b1, 0) @ w2 + b2, 0)
    tolerance.assert_close(
      features(features.initial_weights, tf.constant(_X)), expected
    )

  def test_features_of_a_wrong_width_are_told(self):
    features = models.FeatureMap(
      input_spec=tf.TensorSpec([None, 4], tf.float32),
      num_features=5,
      initial_weights=(),
      apply=lambda weights, x: x,
    )
    with self.assertRaisesRegex(errors.InputError, r'\[batch, 5\]'):
      features((), tf.constant(_X))
    with self.assertRaisesRegex(errors.InputError, r'\[batch, 5\]'):
      features.check()
    with self.assertRaisesRegex(errors.InputError, r'\[batch, 5\]'):
      models.create_feature_classifier(features, num_classes=2)

  def test_bad_sizes(self):
    with self.assertRaisesRegex(errors.InputError, 'num_features .*0'):
      models.create_identity_features(0)
    with self.assertRaisesRegex(errors.InputError, 'hidden_units .*none'):
      models.create_dense_features(num_inputs=4, hidden_units=[], seed=0)
