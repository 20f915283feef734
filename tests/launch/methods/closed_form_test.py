# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of methods in closed form, as configs build them."""

from fedfish_tff import errors
from fedfish_tff import models
from launch.methods import building
from launch.methods import closed_form
from launch.methods import config_checks
from tasks.tabular import toy_regression
from tests import ridge_reference
from tests import tolerance
from tests.launch import small_configs
from tests.launch.methods import solved

from absl.testing import parameterized
import numpy as np
import pytest
from scipy import spatial
from sklearn import neighbors
import tensorflow as tf


class ClosedFormTest(small_configs.TaskTestCase):
  @pytest.mark.thorough
  def test_the_model_is_that_of_the_weights(self):
    """A linear classifier on the features, random ones for Fed3R-RF."""
    held_out, _ = solved.pool(self.task.validation)
    for variant in ('fed3r', 'fed3r_rf'):
      built, _, weights = solved.solve(variant, self.task)
      feature_map, *_ = closed_form.prepare(
        building.prepare(small_configs.read_config(variant), self.task)
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
      feature_map, *_ = closed_form.prepare(
        building.prepare(config_checks.read(config), self.task)
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
