# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of Fed3R as configs build it."""

from fedfish_tff import models
from tests import ridge_reference
from tests.launch import small_configs
from tests.launch.methods import solved

from absl.testing import parameterized
import numpy as np
import pytest

_CLASSES = small_configs.NUM_CLASSES


class Fed3rTest(small_configs.TaskTestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.x, cls.y = solved.pool(cls.task.train)

  @parameterized.parameters(
    ('regularized', True), ('centered', False), ('none', True)
  )
  def test_fed3r_is_scikit_learn_s_ridge(self, bias, normalize_classes):
    regularization = 0.5
    _, _, weights = solved.solve(
      'fed3r',
      self.task,
      regularization=regularization,
      bias=bias,
      normalize_classes=normalize_classes,
    )
    features = solved.features(self.task, self.x).astype(np.float64)
    kernel, intercept = ridge_reference.scikit_learn(
      features, self.y, _CLASSES, regularization, models.RidgeBias(bias)
    )
    if normalize_classes:
      norms = np.linalg.norm(kernel, axis=0)
      kernel, intercept = kernel / norms, intercept / norms
    # Features are rounded to float32; the solution magnifies that by the
    # condition of what is solved.
    gram, _ = ridge_reference.sums(features, self.y, _CLASSES)
    condition = np.linalg.cond(gram + regularization * np.eye(len(gram)))
    bound = np.finfo(np.float32).eps * condition * np.abs(kernel).max()
    self.assertLess(bound, 1e-2 * np.abs(kernel).max())
    *_, found_kernel, found_bias = weights.trainable
    np.testing.assert_allclose(found_kernel, kernel, rtol=0, atol=bound)
    np.testing.assert_allclose(found_bias, intercept, rtol=0, atol=bound)

  @parameterized.parameters('float32', 'float64')
  @pytest.mark.thorough
  def test_sums_are_of_the_accumulator_s_type(self, accumulator):
    _, state, _ = solved.solve('fed3r', self.task, accumulator=accumulator)
    self.assertEqual(state['statistics']['gram'].dtype, accumulator)
