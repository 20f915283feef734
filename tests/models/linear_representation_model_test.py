# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The linear representation's model against NumPy."""

from fedfish_tff import errors
from fedfish_tff import models

from absl.testing import absltest
import numpy as np


class LinearRepresentationTest(absltest.TestCase):
  def test_is_a_function_of_a_random_subspace(self):
    model = models.create_linear_representation(
      num_features=5, num_components=2, seed=3
    )
    (basis, head), _ = model.initial_weights
    self.assertEqual((basis.shape, head.shape), ((5, 2), (2, 1)))
    np.testing.assert_allclose(basis.T @ basis, np.eye(2), atol=1e-6)
    np.testing.assert_array_equal(head, 0)
    rng = np.random.default_rng(0)
    x = rng.normal(size=[4, 5]).astype(np.float32)
    y = rng.normal(size=[4, 1]).astype(np.float32)
    head = np.array([[1.0], [-2.0]], np.float32)
    output = model.predict_on_batch(((basis, head), ()), x, training=False)
    np.testing.assert_allclose(output, x @ basis @ head, rtol=1e-5)
    error = np.mean((x @ basis @ head - y) ** 2)
    np.testing.assert_allclose(model.loss(output, y), error / 2, rtol=1e-5)

  def test_refuses_more_components_than_features(self):
    with self.assertRaisesRegex(
      errors.InputError, 'at most num_features, 3, got 4'
    ):
      models.create_linear_representation(
        num_features=3, num_components=4, seed=0
      )
