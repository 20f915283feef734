# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of Fed3R on random features as configs build it."""

from launch.methods import closed_form
from launch.methods import config_checks
from tests.launch import small_configs
from tests.launch.methods import solved

import numpy as np
from scipy import spatial
import tensorflow as tf


class Fed3rRfTest(small_configs.TaskTestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.x, cls.y = solved.pool(cls.task.train)

  def test_bandwidth_zero_is_the_median_distance_of_validation_clients(self):
    held_out, _ = solved.pool(self.task.validation)
    distances = spatial.distance.pdist(
      solved.features(self.task, held_out).astype(np.float64)
    )
    x = tf.constant(self.x[:50])

    def random_features(seed=0, **changes):
      config = small_configs.make_config('fed3r_rf', seed=seed)
      config['algorithm'].update(changes)
      feature_map, _ = closed_form.prepare(
        config_checks.read(config), self.task
      )
      return feature_map(feature_map.initial_weights, x).numpy()

    automatic = random_features(bandwidth=0.0)
    # Cosines of arguments of a few units, with the rounding of float32.
    np.testing.assert_allclose(
      automatic,
      random_features(bandwidth=float(np.median(distances))),
      rtol=0,
      atol=1e-5,
    )
    self.assertGreater(
      np.abs(automatic - random_features(bandwidth=1.0)).max(), 0.1
    )
    self.assertGreater(np.abs(automatic - random_features(seed=1)).max(), 0.1)
    self.assertEqual(automatic.shape, (50, small_configs.NUM_RANDOM_FEATURES))
