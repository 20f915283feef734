# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fed3R-RF against kernel ridge regression of scikit-learn."""

from fedfish_tff import algorithms
from fedfish_tff import models
from fedfish_tff import simulation
from tests import tolerance

from absl.testing import absltest
import numpy as np
from sklearn import kernel_ridge
from sklearn import linear_model
import tensorflow as tf

_IDENTITY = models.create_identity_features(3)
_OPTIONS = dict(num_random_features=40, bandwidth=1.5, seed=3)


def _examples(number, seed):
  """Two classes, one around the other: no line divides them."""
  rng = np.random.default_rng(seed)
  x = rng.normal(size=[number, 3]).astype(np.float32)
  return x, (np.linalg.norm(x, axis=1) > 1.5).astype(np.int32)


def _dataset(x, y):
  return tf.data.Dataset.from_tensor_slices((x, y)).batch(50)


def _weights(x, y, **options):
  process = algorithms.build_fed3r_rf(
    _IDENTITY,
    num_classes=2,
    bias=models.RidgeBias.NONE,
    normalize_classes=False,
    accumulator_dtype=tf.float64,
    **options,
  )
  clients = [_dataset(x[i::3], y[i::3]) for i in range(3)]
  state, _ = process.next(process.initialize(), clients)
  return process.get_model_weights(state)


def _logits(x, y, test, **options):
  """Returns logits of test examples, and all random features in float64."""
  weights = _weights(x, y, regularization=1.0, **options)
  features = models.create_random_features(_IDENTITY, **options)
  model = models.create_feature_classifier(features, num_classes=2)
  logits = model.predict_on_batch(
    (weights.trainable, ()), tf.constant(test), training=False
  ).numpy()
  z, z_test = (
    features((), tf.constant(a)).numpy().astype(np.float64) for a in (x, test)
  )
  return logits, z, z_test


class Fed3rRfTest(absltest.TestCase):
  def test_equals_scikit_learn_on_the_same_random_features(self):
    x, y = _examples(100, 0)
    features = models.create_random_features(_IDENTITY, **_OPTIONS)
    kernel, _ = _weights(x, y, regularization=0.1, **_OPTIONS).trainable
    z = features((), tf.constant(x)).numpy()
    expected = linear_model.Ridge(alpha=0.1, fit_intercept=False).fit(
      z.astype(np.float64), np.eye(2)[y]
    )
    # The process's graph may round the float32 features otherwise.
    tolerance.assert_close(kernel, expected.coef_.T)

  def test_is_kernel_ridge_regression_with_the_random_kernel(self):
    x, y = _examples(100, 1)
    test, _ = _examples(50, 2)
    logits, z, z_test = _logits(x, y, test, **_OPTIONS)
    dual = kernel_ridge.KernelRidge(alpha=1.0, kernel='precomputed').fit(
      z @ z.T, np.eye(2)[y]
    )
    # Weights and features are float32, and sums of 40 products of them.
    weights = z.T @ dual.dual_coef_
    np.testing.assert_array_less(
      np.abs(logits - dual.predict(z_test @ z.T)),
      42 * 2.0**-24 * np.abs(z_test) @ np.abs(weights),
    )

  def test_nothing_of_the_random_matrix_travels(self):
    process = algorithms.build_fed3r_rf(_IDENTITY, num_classes=2, **_OPTIONS)
    measured = simulation.measure_wire_bytes(process)
    self.assertEqual(measured.download, 0)
    self.assertEqual(measured.upload, 4 * (41 * 42 // 2 + 41 * 2) + 4)
