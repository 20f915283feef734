# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Ensembles against the mean of their members' probabilities."""

from fedfish_tff import errors
from fedfish_tff import models

from absl.testing import absltest
import numpy as np
from scipy import special


class EnsembleTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.model = models.create_mlp_classifier(
      num_features=4, num_classes=3, hidden_units=(5,), seed=0
    )

  def test_predicts_the_mean(self):
    rng = np.random.default_rng(0)
    weights = self.model.initial_weights[0]
    members = [
      [rng.normal(size=w.shape).astype(np.float32) for w in weights]
      for _ in range(3)
    ]
    ensemble = models.create_ensemble(self.model, members)
    x = rng.normal(size=[7, 4]).astype(np.float32)
    found = ensemble.predict_on_batch(
      ensemble.initial_weights, x, training=False
    )
    expected = np.mean(
      [
        special.softmax(np.maximum(x @ k1 + b1, 0) @ k2 + b2, axis=1)
        for k1, b1, k2, b2 in members
      ],
      axis=0,
    )
    np.testing.assert_allclose(np.exp(found), expected, rtol=1e-4, atol=1e-6)

  def test_of_nobody(self):
    with self.assertRaisesRegex(errors.InputError, 'members .*none'):
      models.create_ensemble(self.model, [])
