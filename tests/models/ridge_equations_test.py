# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The equations of each bias against NumPy on the examples."""

from fedfish_tff import models
from fedfish_tff.models import ridge_equations
from tests import ridge_reference as ref

from absl.testing import parameterized
import numpy as np
import tensorflow as tf


class RidgeEquationsTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.x, self.y = ref.examples(50, 4, 3, 0)
    self.sums = ref.sums(self.x, self.y, 3)

  @parameterized.product(
    bias=list(models.RidgeBias), convert=[np.asarray, tf.constant]
  )
  def test_equations_are_those_of_the_examples(self, bias, convert):
    x, targets = self.x, np.eye(3)[self.y]
    if bias is models.RidgeBias.REGULARIZED:
      x = np.c_[x, np.ones(50)]
    elif bias is models.RidgeBias.CENTERED:
      x, targets = x - x.mean(axis=0), targets - targets.mean(axis=0)
    matrix, right = ridge_equations.build_equations(
      *map(convert, self.sums), bias
    )
    # Sums of 50 products, of which centring takes most away.
    atol = 50 * np.finfo(np.float64).eps * self.sums[0].max()
    np.testing.assert_allclose(matrix, x.T @ x, rtol=0, atol=atol)
    np.testing.assert_allclose(right, x.T @ targets, rtol=0, atol=atol)

  def test_the_centred_bias_makes_residuals_of_mean_zero(self):
    weights = np.random.default_rng(1).normal(size=[4, 3])
    kernel, intercept = ridge_equations.to_classifier(
      weights, *self.sums, models.RidgeBias.CENTERED, normalize_classes=False
    )
    residuals = np.eye(3)[self.y] - self.x @ kernel - intercept
    np.testing.assert_allclose(np.mean(residuals, axis=0), 0, atol=1e-13)

  def test_columns_of_zero_are_not_divided_by_zero(self):
    weights = np.c_[np.full([5, 2], 3.0), np.zeros(5)]
    kernel, intercept = ridge_equations.to_classifier(
      weights, *self.sums, models.RidgeBias.REGULARIZED, normalize_classes=True
    )
    np.testing.assert_allclose(kernel, [[0.5, 0.5, 0]] * 4)
    np.testing.assert_allclose(intercept, [0.5, 0.5, 0])
