# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what solves for the classifier, and of models fine-tuned from it."""

import dataclasses

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import models
from fedfish_tff.execution import contexts
from launch import closed_form_methods
from launch.runs import experiment
from tasks import toy_regression
from tests import ridge_reference
from tests import tolerance
from tests.launch import small_configs

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
from scipy import spatial
from sklearn import neighbors
import tensorflow as tf
import tensorflow_federated as tff

_CLASSES = small_configs.NUM_CLASSES


def setUpModule():
  contexts.set_default_context()


def _algorithm(variant, **changes):
  return {**small_configs.make_config(variant)['algorithm'], **changes}


def _fine_tuning(variant, **changes):
  return {**small_configs.make_config(variant)['fine_tuning'], **changes}


def _pool(clients):
  """Returns the examples of all clients."""
  examples = [clients.load_client(c) for c in clients.client_ids]
  return tuple(np.concatenate(arrays) for arrays in zip(*examples))


def _features(task, x):
  """Returns the features of the digits' hidden layer, by NumPy."""
  kernel, bias = task.feature_map.initial_weights
  return np.maximum(x @ kernel + bias, 0)


def _predict(model, weights, x):
  logits = model.predict_on_batch(
    (weights.trainable, weights.non_trainable), tf.constant(x), training=False
  )
  return logits.numpy()


class ClosedFormTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.task = experiment.create_task(small_configs.make_config())
    cls.x, cls.y = _pool(cls.task.train)

  def _solve(self, algorithm):
    """Returns what is built, and the weights after all clients came once."""
    built = closed_form_methods.build_closed_form(algorithm, self.task, seed=0)
    (_, process, _), train = built, self.task.train
    state = process.next(
      process.initialize(),
      [
        datasets.sequential_batches(
          train.load_client(c), client_id=c, batch_size=16
        ).to_dataset()
        for c in train.client_ids
      ],
    ).state
    return built, state, process.get_model_weights(state)

  @parameterized.parameters(
    ('regularized', True), ('centered', False), ('none', True)
  )
  def test_fed3r_is_scikit_learn_s_ridge(self, bias, normalize_classes):
    regularization = 0.5
    _, _, weights = self._solve(
      _algorithm(
        'fed3r',
        regularization=regularization,
        bias=bias,
        normalize_classes=normalize_classes,
      )
    )
    features = _features(self.task, self.x).astype(np.float64)
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

  def test_fed_ncm_has_scikit_learn_s_nearest_means(self):
    (model, *_), _, weights = self._solve(
      _algorithm('fed_ncm', distance='euclidean')
    )
    held_out, _ = _pool(self.task.validation)
    nearest = neighbors.NearestCentroid().fit(
      _features(self.task, self.x), self.y
    )
    np.testing.assert_array_equal(
      np.argmax(_predict(model, weights, held_out), axis=1),
      nearest.predict(_features(self.task, held_out)),
    )

  def test_fed_ncm_by_cosine_has_means_of_length_one(self):
    _, _, weights = self._solve(_algorithm('fed_ncm'))
    features = _features(self.task, self.x)
    means = np.stack(
      [features[self.y == label].mean(axis=0) for label in range(_CLASSES)]
    )
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    *_, kernel, bias = weights.trainable
    # Sums of float32 features of one sign, in float64.
    tolerance.assert_close(kernel, means.T, relative=tolerance.FLOAT32_SUMS)
    self.assertFalse(np.any(bias))

  @parameterized.parameters('float32', 'float64')
  @pytest.mark.thorough
  def test_sums_are_of_the_accumulator_s_type(self, accumulator):
    _, state, _ = self._solve(_algorithm('fed3r', accumulator=accumulator))
    self.assertEqual(state['statistics']['gram'].dtype, accumulator)

  @pytest.mark.thorough
  def test_the_model_is_that_of_the_weights(self):
    """A linear classifier on the features, random ones for Fed3R-RF."""
    held_out, _ = _pool(self.task.validation)
    for variant in ('fed3r', 'fed3r_rf'):
      (model, _, feature_map), _, weights = self._solve(_algorithm(variant))
      features = feature_map(
        feature_map.initial_weights, tf.constant(held_out), training=False
      ).numpy()
      *_, kernel, bias = weights.trainable
      np.testing.assert_allclose(
        _predict(model, weights, held_out),
        features @ kernel + bias,
        rtol=1e-4,
        atol=1e-5,
      )

  def test_bandwidth_zero_is_the_median_distance_of_validation_clients(self):
    held_out, _ = _pool(self.task.validation)
    distances = spatial.distance.pdist(
      _features(self.task, held_out).astype(np.float64)
    )
    x = tf.constant(self.x[:50])

    def random_features(seed=0, **changes):
      feature_map = closed_form_methods.create_feature_map(
        _algorithm('fed3r_rf', **changes), self.task, seed=seed
      )
      return feature_map(feature_map.initial_weights, x, training=False).numpy()

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

  @parameterized.parameters('fed3r', 'fed3r_rf', 'fed_ncm')
  def test_rejects_a_task_without_features(self, variant):
    with self.assertRaisesRegex(
      errors.InputError,
      f"Task 'toy_regression' has .* without a feature map, which {variant} ",
    ):
      closed_form_methods.build_closed_form(
        _algorithm(variant), toy_regression.create_task(seed=0), seed=0
      )


class FineTunedModelTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.task = experiment.create_task(small_configs.make_config())
    cls.x, _ = cls.task.train.load_client(cls.task.train.client_ids[0])
    rng = np.random.default_rng(0)
    cls.start = [
      rng.normal(size=shape).astype(np.float32)
      for shape in ((64, 8), (8,), (8, _CLASSES), (_CLASSES,))
    ]

  @parameterized.parameters(
    ('fed3r_ft', slice(None)),
    ('fed3r_ft_lp', slice(2, None)),
    ('fed3r_ft_feat', slice(2)),
  )
  def test_what_is_frozen_stays_as_the_start_has_it(self, variant, trained):
    """The output for any trained weights, recomputed by NumPy."""
    model = closed_form_methods.create_fine_tuned_model(
      _fine_tuning(variant, temperature=0.25),
      self.task,
      seed=0,
      start_weights=tff.learning.models.ModelWeights(tuple(self.start), ()),
    )
    for found, expected in zip(
      model.initial_weights[0], self.start[trained], strict=True
    ):
      np.testing.assert_array_equal(found, expected)
    whole = list(self.start)
    whole[trained] = [w + 1 for w in self.start[trained]]
    kernel, bias, classifier, classifier_bias = whole
    logits = np.maximum(self.x @ kernel + bias, 0) @ classifier
    found = model.predict_on_batch(
      (tuple(whole[trained]), ()), tf.constant(self.x), training=False
    )
    expected = (logits + classifier_bias) / 0.25
    # Sums of a few dozen float32 products.
    np.testing.assert_allclose(
      found, expected, rtol=0, atol=1e-5 * np.abs(expected).max()
    )

  def test_random_features_can_be_fine_tuned(self):
    model = closed_form_methods.create_fine_tuned_model(
      _fine_tuning('fed3r_ft_lp', start=_algorithm('fed3r_rf')),
      self.task,
      seed=0,
      start_weights=None,
    )
    self.assertEqual(
      [w.shape for w in model.initial_weights[0]],
      [(small_configs.NUM_RANDOM_FEATURES, _CLASSES), (_CLASSES,)],
    )

  @parameterized.parameters('fed_avg_lp', 'fed3r_ft')
  def test_rejects_a_task_without_features(self, variant):
    with self.assertRaisesRegex(
      errors.InputError,
      "Task 'toy_regression' has .* without a feature map, which (fine_tuning|"
      'fed3r) was expected to find',
    ):
      closed_form_methods.create_fine_tuned_model(
        _fine_tuning(variant),
        toy_regression.create_task(seed=0),
        seed=0,
        start_weights=None,
      )

  def test_rejects_to_train_an_extractor_without_weights(self):
    task = dataclasses.replace(
      self.task, feature_map=models.create_identity_features(64)
    )
    for variant, message in (
      ('fed3r_ft_feat', 'FT-FEAT trains the feature'),
      ('fed3r_ft', 'only the classifier is trained; ft_lp was expected'),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        closed_form_methods.create_fine_tuned_model(
          _fine_tuning(variant), task, seed=0, start_weights=None
        )

  def test_rejects_a_start_of_another_size(self):
    with self.assertRaisesRegex(errors.InputError, 'weights to start from'):
      closed_form_methods.create_fine_tuned_model(
        _fine_tuning('fed3r_ft'),
        self.task,
        seed=0,
        start_weights=tff.learning.models.ModelWeights(
          tuple(self.start[:2]), ()
        ),
      )


if __name__ == '__main__':
  absltest.main()
