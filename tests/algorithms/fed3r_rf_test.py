# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fed3R-RF against kernel ridge regression of scikit-learn."""

from fedfish_tff import algorithms
from fedfish_tff import models
from fedfish_tff import simulation
from fedfish_tff.execution import contexts

from absl.testing import absltest
import numpy as np
from sklearn import kernel_ridge
from sklearn import linear_model
import tensorflow as tf

_IDENTITY = models.create_identity_features(3)
_OPTIONS = dict(num_random_features=40, bandwidth=1.5, seed=3)


def setUpModule():
  contexts.set_default_context()


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


class Fed3rRfTest(absltest.TestCase):
  def test_equals_scikit_learn_on_the_same_random_features(self):
    x, y = _examples(100, 0)
    features = models.create_random_features(_IDENTITY, **_OPTIONS)
    z = features((), tf.constant(x), training=False).numpy()
    kernel, _ = _weights(x, y, regularization=0.1, **_OPTIONS).trainable
    expected = linear_model.Ridge(alpha=0.1, fit_intercept=False).fit(
      z.astype(np.float64), np.eye(2)[y]
    )
    np.testing.assert_allclose(kernel, expected.coef_.T, rtol=1e-5, atol=1e-6)

  def test_comes_near_kernel_ridge_regression(self):
    x, y = _examples(200, 1)
    test, labels = _examples(500, 2)
    options = dict(_OPTIONS, num_random_features=2000)
    weights = _weights(x, y, regularization=1.0, **options)
    model = models.create_feature_classifier(
      models.create_random_features(_IDENTITY, **options), num_classes=2
    )
    logits = model.predict_on_batch(
      (weights.trainable, ()), tf.constant(test), training=False
    ).numpy()
    exact = kernel_ridge.KernelRidge(
      alpha=1.0, kernel='rbf', gamma=1 / (2 * 1.5**2)
    ).fit(x, np.eye(2)[y])
    np.testing.assert_allclose(logits, exact.predict(test), atol=0.15)
    self.assertGreater(np.mean(np.argmax(logits, axis=1) == labels), 0.85)

  def test_nothing_of_the_random_matrix_travels(self):
    process = algorithms.build_fed3r_rf(_IDENTITY, num_classes=2, **_OPTIONS)
    measured = simulation.measure_wire_bytes(process)
    self.assertEqual(measured.download, 0)
    self.assertEqual(measured.upload, 4 * (41 * 42 // 2 + 41 * 2) + 4)


if __name__ == '__main__':
  absltest.main()
