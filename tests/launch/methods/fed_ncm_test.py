# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of FedNCM as configs build it."""

from tests import tolerance
from tests.launch import small_configs
from tests.launch.methods import solved

import numpy as np
from sklearn import neighbors

_CLASSES = small_configs.NUM_CLASSES


class FedNcmTest(small_configs.TaskTestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.x, cls.y = solved.pool(cls.task.train)

  def test_fed_ncm_has_scikit_learn_s_nearest_means(self):
    built, _, weights = solved.solve('fed_ncm', self.task, distance='euclidean')
    held_out, _ = solved.pool(self.task.validation)
    nearest = neighbors.NearestCentroid().fit(
      solved.features(self.task, self.x), self.y
    )
    np.testing.assert_array_equal(
      np.argmax(solved.predict(built.model, weights, held_out), axis=1),
      nearest.predict(solved.features(self.task, held_out)),
    )

  def test_fed_ncm_by_cosine_has_means_of_length_one(self):
    _, _, weights = solved.solve('fed_ncm', self.task)
    features = solved.features(self.task, self.x)
    means = np.stack(
      [features[self.y == label].mean(axis=0) for label in range(_CLASSES)]
    )
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    *_, kernel, bias = weights.trainable
    # Sums of float32 features of one sign, in float64.
    tolerance.assert_close(kernel, means.T, relative=tolerance.FLOAT32_SUMS)
    self.assertFalse(np.any(bias))
