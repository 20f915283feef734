# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Feature maps against NumPy."""

from fedfish_tff import errors
from fedfish_tff import models
from tests import tolerance

from absl.testing import absltest
import numpy as np
import tensorflow as tf

_X = np.random.default_rng(0).normal(size=[7, 4]).astype(np.float32)


class FeatureMapTest(absltest.TestCase):
  def test_identity(self):
    features = models.create_identity_features(4)
    self.assertEqual(features.initial_weights, ())
    np.testing.assert_array_equal(features((), tf.constant(_X), False), _X)

  def test_dense(self):
    features = models.create_dense_features(
      num_inputs=4, hidden_units=[6, 5], seed=2
    )
    self.assertEqual(features.num_features, 5)
    w1, b1, w2, b2 = features.initial_weights
    expected = np.maximum(np.maximum(_X @ w1 + b1, 0) @ w2 + b2, 0)
    tolerance.assert_close(
      features(features.initial_weights, tf.constant(_X), False),
      expected,
      relative=tolerance.FLOAT32_SUMS,
    )
    again = models.create_dense_features(
      num_inputs=4, hidden_units=[6, 5], seed=2
    )
    other = models.create_dense_features(
      num_inputs=4, hidden_units=[6, 5], seed=3
    )
    np.testing.assert_array_equal(again.initial_weights[0], w1)
    self.assertTrue(np.any(other.initial_weights[0] != w1))

  def test_features_of_a_wrong_width_are_told(self):
    features = models.FeatureMap(
      input_shape=(4,),
      num_features=5,
      initial_weights=(),
      apply=lambda weights, x, training: x,
    )
    with self.assertRaisesRegex(
      errors.InputError, r'\[batch, 5\] was expected'
    ):
      features((), tf.constant(_X), False)
    with self.assertRaisesRegex(
      errors.InputError, r'\[batch, 5\] was expected'
    ):
      features.check()
    with self.assertRaisesRegex(
      errors.InputError, r'\[batch, 5\] was expected'
    ):
      models.create_feature_classifier(features, num_classes=2)

  def test_bad_sizes(self):
    with self.assertRaisesRegex(errors.InputError, 'num_features holds 0'):
      models.create_identity_features(0)
    with self.assertRaisesRegex(errors.InputError, 'hidden_units is empty'):
      models.create_dense_features(num_inputs=4, hidden_units=[], seed=0)
