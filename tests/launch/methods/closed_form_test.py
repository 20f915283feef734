# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what methods with a closed form have in common."""

from fedfish_tff import errors
from launch.methods import building
from launch.methods import closed_form
from tasks.tabular import toy_regression
from tests.launch import small_configs
from tests.launch.methods import solved

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf


class ClosedFormTest(small_configs.TaskTestCase):
  @pytest.mark.thorough
  def test_the_model_is_that_of_the_weights(self):
    """A linear classifier on the features, random ones for Fed3R-RF."""
    held_out, _ = solved.pool(self.task.validation)
    for variant in ('fed3r', 'fed3r_rf'):
      built, _, weights = solved.solve(variant, self.task)
      feature_map, _ = closed_form.prepare(
        small_configs.read_config(variant), self.task
      )
      features = feature_map(
        feature_map.initial_weights, tf.constant(held_out)
      ).numpy()
      *_, kernel, bias = weights.trainable
      np.testing.assert_allclose(
        solved.predict(built.model, weights, held_out),
        features @ kernel + bias,
        rtol=1e-4,
        atol=1e-5,
      )

  @parameterized.parameters('fed3r', 'fed3r_rf', 'fed_ncm')
  def test_rejects_a_task_without_features(self, variant):
    with self.assertRaisesRegex(
      errors.InputError, f"'toy_regression' .* feature map for {variant}"
    ):
      building.build_method(
        small_configs.read_config(variant), toy_regression.create_task(seed=0)
      )
