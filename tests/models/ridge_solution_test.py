# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The solution from sums against scikit-learn on the examples."""

from fedfish_tff import models
from tests import ridge_reference as ref

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import numpy as np
from sklearn import linear_model
import tensorflow as tf


class SolveRidgeTest(parameterized.TestCase):
  @hypothesis.settings(max_examples=40, deadline=None)
  @hypothesis.given(
    number=st.integers(2, 60),
    num_features=st.integers(1, 12),
    num_classes=st.integers(2, 5),
    regularization=st.floats(1e-3, 1e3),
    bias=st.sampled_from(list(models.RidgeBias)),
    seed=st.integers(0, 2**30),
  )
  def test_equals_scikit_learn(
    self, number, num_features, num_classes, regularization, bias, seed
  ):
    x, y = ref.examples(number, num_features, num_classes, seed)
    actual = models.solve_ridge(
      *map(tf.constant, ref.sums(x, y, num_classes)), regularization, bias=bias
    )
    expected = ref.scikit_learn(x, y, num_classes, regularization, bias)
    scale = max(np.abs(expected[0]).max(), np.abs(expected[1]).max())
    for a, e in zip(actual, expected):
      np.testing.assert_allclose(
        a, e, rtol=0, atol=ref.rounding_bound(x, regularization) * scale
      )

  def test_predicts_as_ridge_classifier(self):
    x, y = ref.examples(80, 6, 4, 0)
    kernel, bias = models.solve_ridge(
      *map(tf.constant, ref.sums(x, y, 4)),
      0.5,
      bias=models.RidgeBias.CENTERED,
    )
    classifier = linear_model.RidgeClassifier(alpha=0.5).fit(x, y)
    # Its targets are -1 and 1.
    np.testing.assert_allclose(
      2 * kernel,
      classifier.coef_.T,
      rtol=0,
      atol=ref.rounding_bound(x, 0.5) * np.abs(classifier.coef_).max(),
    )
    np.testing.assert_array_equal(
      np.argmax(x @ kernel + bias, axis=1), classifier.predict(x)
    )

  def test_many_blocks_of_pivots(self):
    x, y = ref.examples(700, 600, 3, 1)
    actual, _ = models.solve_ridge(
      *map(tf.constant, ref.sums(x, y, 3)), 0.1, bias=models.RidgeBias.NONE
    )
    expected, _ = ref.scikit_learn(x, y, 3, 0.1, models.RidgeBias.NONE)
    np.testing.assert_allclose(
      actual, expected, rtol=1e-5, atol=1e-8 * np.abs(expected).max()
    )

  @parameterized.parameters(*models.RidgeBias)
  def test_normalized_classes_have_norm_one(self, bias):
    x, y = ref.examples(30, 5, 3, 2)
    sums = tuple(map(tf.constant, ref.sums(x, y, 3)))
    kernel, intercept = models.solve_ridge(*sums, 0.1, bias=bias)
    unit, scaled = models.solve_ridge(
      *sums, 0.1, bias=bias, normalize_classes=True
    )
    norms = np.linalg.norm(kernel, axis=0)
    np.testing.assert_allclose(unit, kernel / norms, rtol=1e-12)
    np.testing.assert_allclose(scaled, intercept / norms, rtol=1e-12)

  @parameterized.product(
    bias=list(models.RidgeBias), normalize_classes=[False, True]
  )
  def test_a_class_that_nobody_holds_has_weights_of_zero(
    self, bias, normalize_classes
  ):
    x, y = ref.examples(30, 5, 3, 3)
    kernel, intercept = models.solve_ridge(
      *map(tf.constant, ref.sums(x, y, 4)),
      0.1,
      bias=bias,
      normalize_classes=normalize_classes,
    )
    np.testing.assert_allclose(kernel[:, 3], 0, atol=1e-12)
    np.testing.assert_allclose(intercept[3], 0, atol=1e-12)

  def test_lambda_solves_a_matrix_of_deficient_rank(self):
    x, y = ref.examples(4, 8, 3, 4)
    actual = models.solve_ridge(*map(tf.constant, ref.sums(x, y, 3)), 0.01)
    expected = ref.scikit_learn(x, y, 3, 0.01, models.RidgeBias.REGULARIZED)
    for a, e in zip(actual, expected):
      np.testing.assert_allclose(
        a,
        e,
        rtol=0,
        atol=ref.rounding_bound(x, 0.01) * np.abs(expected[0]).max(),
      )

  def test_lambda_zero_is_least_squares(self):
    x, y = ref.examples(50, 4, 3, 5)
    kernel, bias = models.solve_ridge(*map(tf.constant, ref.sums(x, y, 3)), 0.0)
    expected = np.linalg.lstsq(np.c_[x, np.ones(50)], np.eye(3)[y], rcond=None)[
      0
    ]
    np.testing.assert_allclose(kernel, expected[:-1], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(bias, expected[-1], rtol=1e-6, atol=1e-9)

  @parameterized.product(
    dtype=[np.float32, np.float64],
    bias=list(models.RidgeBias),
    size=[8, 300],
  )
  def test_a_singular_matrix_with_lambda_zero_is_told(self, dtype, bias, size):
    x, y = ref.examples(size // 2, size, 3, 6)
    with self.assertRaisesRegex(
      tf.errors.InvalidArgumentError, 'no ridge solution: A .* larger lambda'
    ):
      models.solve_ridge(
        *map(tf.constant, ref.sums(x, y, 3, dtype)), 0.0, bias=bias
      )

  @parameterized.parameters(-1.0, np.nan)
  def test_sums_that_are_no_sums_of_products_are_told(self, value):
    x, y = ref.examples(30, 5, 3, 7)
    gram, moments = ref.sums(x, y, 3)
    gram[2, 2] = value
    with self.assertRaisesRegex(
      tf.errors.InvalidArgumentError, 'not positive definite'
    ):
      models.solve_ridge(tf.constant(gram), tf.constant(moments), 0.01)


if __name__ == '__main__':
  absltest.main()
