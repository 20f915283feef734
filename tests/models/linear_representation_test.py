# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The linear representation's model against NumPy."""

from fedfish_tff import errors
from fedfish_tff import models
from tests import named_tensors

from absl.testing import parameterized
import numpy as np


class LinearRepresentationTest(parameterized.TestCase):
  def test_is_a_function_of_a_random_subspace(self):
    model = models.create_linear_representation(
      num_features=5, num_components=2, seed=3
    )
    (basis, head), non_trainable = model.initial_weights
    self.assertEqual((basis.shape, head.shape), ((5, 2), (2, 1)))
    self.assertEmpty(non_trainable)
    np.testing.assert_allclose(basis.T @ basis, np.eye(2), atol=1e-6)
    np.testing.assert_array_equal(head, 0)
    named_tensors.assert_named(
      models.LINEAR_REPRESENTATION_TENSORS, model.initial_weights[0]
    )
    rng = np.random.default_rng(0)
    x = rng.normal(size=[4, 5]).astype(np.float32)
    y = rng.normal(size=[4, 1]).astype(np.float32)
    head = np.array([[1.0], [-2.0]], np.float32)
    output = model.predict_on_batch(((basis, head), ()), x, training=False)
    np.testing.assert_allclose(output, x @ basis @ head, rtol=1e-5)
    error = np.mean((x @ basis @ head - y) ** 2)
    np.testing.assert_allclose(model.loss(output, y), error / 2, rtol=1e-5)

  @parameterized.parameters(
    (0, 1, 'num_features holds 0'), (3, 4, 'num_components is 4; at most .* 3')
  )
  def test_refuses_sizes(self, num_features, num_components, message):
    with self.assertRaisesRegex(errors.InputError, message):
      models.create_linear_representation(
        num_features=num_features, num_components=num_components, seed=0
      )
