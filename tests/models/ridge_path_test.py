# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The path over lambdas against the solutions one by one."""

from fedfish_tff import errors
from fedfish_tff import models
from tests import ridge_reference as ref
from tests import tolerance

from absl.testing import parameterized
import numpy as np
import tensorflow as tf


class RidgePathTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.x, self.y = ref.examples(40, 5, 3, 8)
    gram, moments = ref.sums(self.x, self.y, 3)
    self.statistics = dict(gram=gram, moments=moments)
    self.features = models.create_dense_features(
      num_inputs=2, hidden_units=[5], seed=0
    )

  @parameterized.product(
    bias=list(models.RidgeBias), normalize_classes=[False, True]
  )
  def test_equals_the_solutions_one_by_one(self, bias, normalize_classes):
    lambdas = [10.0, 0.01, 0.0]
    path = models.solve_ridge_path(
      self.features,
      self.statistics,
      lambdas,
      bias=bias,
      normalize_classes=normalize_classes,
    )
    self.assertEqual(list(path), lambdas)
    for regularization, weights in path.items():
      expected = models.solve_ridge(
        *map(tf.constant, self.statistics.values()),
        regularization,
        bias=bias,
        normalize_classes=normalize_classes,
      )
      *extractor, kernel, intercept = weights.trainable
      # The weights are float32.
      tolerance.assert_close(kernel, expected[0], relative=tolerance.FLOAT32)
      tolerance.assert_close(intercept, expected[1], relative=tolerance.FLOAT32)
      tolerance.assert_same(extractor, self.features.initial_weights)

  def test_bad_input(self):
    nothing = {k: 0 * v for k, v in self.statistics.items()}
    x, y = ref.examples(3, 5, 3, 8)
    gram, moments = ref.sums(x, y, 3)
    for statistics, lambdas, message in (
      (self.statistics, [], 'one lambda at least'),
      (self.statistics, [1.0, -1.0], 'lambda must be .*got -1.0'),
      (nothing, [1.0], 'got no example'),
      (
        dict(self.statistics, gram=np.eye(4)),
        [1.0],
        r'shape \(6, 6\), .* got \(4, 4\)',
      ),
      (
        dict(gram=gram, moments=moments),
        [1.0, 0.0],
        'lambda = 0 .*: A .* singular',
      ),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        models.solve_ridge_path(self.features, statistics, lambdas)
