# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the distribution of generated features and labels."""

from tasks.features import generated_clients

from absl.testing import parameterized
import numpy as np
from scipy import stats


class FeatureGeneratorTest(parameterized.TestCase):
  def _generate(self, concentration, size, count, num_classes=4):
    generator = generated_clients.FeatureGenerator(
      num_classes=num_classes, num_features=2, separation=1.0, seed=0
    )
    return np.array(
      [
        np.bincount(
          generator.generate(f'c{n}', size, concentration)[1],
          minlength=num_classes,
        )
        for n in range(count)
      ]
    )

  def test_labels_are_from_dirichlet_proportions(self):
    shares = self._generate(None, 40_000, 1)[0] / 40_000
    size, concentration = 20, 3.0
    counts = self._generate(concentration, size, 4000)
    for label, share in enumerate(shares):
      # One class against the others: the beta-binomial distribution.
      expected = stats.betabinom(
        size, concentration * share, concentration * (1 - share)
      )
      found = np.bincount(counts[:, label], minlength=size + 1) / 4000
      distance = np.abs(
        np.cumsum(found) - expected.cdf(np.arange(size + 1))
      ).max()
      self.assertLess(distance, 0.03)

  @parameterized.parameters((1e-9, 1, 1), (1e9, 4, 4))
  def test_limits_of_the_concentration(self, concentration, low, high):
    counts = self._generate(concentration, 200, 20)
    num_labels = (counts > 0).sum(axis=1)
    self.assertBetween(num_labels.min(), low, high)
    self.assertBetween(num_labels.max(), low, high)

  def test_features_are_around_their_class(self):
    generator = generated_clients.FeatureGenerator(
      num_classes=3, num_features=5, separation=2.0, seed=0
    )
    x, y = generator.generate('a', 30_000, None)
    for label in range(3):
      deviations = x[y == label] - x[y == label].mean(axis=0)
      np.testing.assert_allclose(deviations.std(axis=0), 1, atol=0.03)
    other, other_y = generator.generate('b', 30_000, None)
    np.testing.assert_allclose(
      other[other_y == 1].mean(axis=0), x[y == 1].mean(axis=0), atol=0.06
    )
