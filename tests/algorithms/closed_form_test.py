# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The contract of closed-form methods, and FedNCM against NumPy."""

from fedfish_tff import algorithms
from fedfish_tff import errors
from fedfish_tff import models
from fedfish_tff import simulation
from tests import closed_form_builders
from tests import tolerance

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
from sklearn import neighbors
import tensorflow as tf
import tensorflow_federated as tff


def _client(number, seed, value=None):
  rng = np.random.default_rng(seed)
  x = rng.normal(size=[number, 4]).astype(np.float32)
  if value is not None:
    x[-1, 0] = value
  y = rng.integers(0, closed_form_builders.NUM_CLASSES, number).astype(np.int32)
  return tf.data.Dataset.from_tensor_slices((x, y)).batch(4)


class ClosedFormTest(parameterized.TestCase):
  def _assert_same(self, process, state, expected):
    tolerance.assert_same(
      process.get_model_weights(state).trainable,
      process.get_model_weights(expected).trainable,
    )

  @parameterized.parameters(*closed_form_builders.BUILDERS)
  def test_contract(self, builder):
    process = closed_form_builders.BUILDERS[builder]()
    clients = [_client(9, 0), _client(6, 1)]
    start = process.initialize()
    state, metrics = process.next(start, clients)
    with self.subTest('is a learning process with its local training'):
      self.assertIsInstance(process, tff.learning.templates.LearningProcess)
      data_type = process.next.type_signature.parameter[1]
      self.assertEqual(
        process.local_training.type_signature.parameter[1], data_type.member
      )
      self.assertTrue(
        process.get_model_weights.type_signature.result.is_assignable_from(
          process.local_training.type_signature.result
        )
      )
    with self.subTest('before any data the classifier is zero'):
      *extractor, kernel, bias = process.get_model_weights(start).trainable
      self.assertFalse(np.any(kernel) or np.any(bias))
      tolerance.assert_same(
        extractor, closed_form_builders.FEATURE_MAP.initial_weights
      )
    with self.subTest('a round solves and reports'):
      self.assertTrue(np.any(process.get_model_weights(state).trainable[-2]))
      self.assertEqual(metrics['client_work']['train']['num_examples'], 15)
      self.assertEqual(metrics['client_work']['excluded_clients'], 0)
      self.assertEqual(metrics['finalizer']['total_examples'], 15)
    with self.subTest('a round repeats bit for bit'):
      self._assert_same(process, process.next(start, clients).state, state)
    with self.subTest('clients of no use change nothing'):
      broken = _client(5, 2, np.nan)
      more, metrics = process.next(state, [broken, _client(0, 3)])
      self.assertEqual(metrics['client_work']['excluded_clients'], 1)
      self.assertEqual(metrics['client_work']['train']['num_examples'], 0)
      self.assertEqual(metrics['finalizer']['total_examples'], 15)
      self._assert_same(process, more, state)
      weights = process.get_model_weights(state)
      told = [
        bool(process.update_is_finite(weights, c)) for c in (*clients, broken)
      ]
      self.assertEqual(told, [True, True, False])
    with self.subTest('an empty cohort changes nothing'):
      self._assert_same(process, process.next(state, []).state, state)
    with self.subTest('weights that are set come back, and training starts'):
      zero = process.set_model_weights(state, process.get_model_weights(start))
      self._assert_same(process, zero, start)
      self._assert_same(process, process.next(zero, clients).state, state)


_FEATURES, _CLASSES = 4, 3


def _examples(number, seed=0):
  rng = np.random.default_rng(seed)
  y = rng.integers(0, _CLASSES, number).astype(np.int32)
  x = rng.normal(size=[number, _FEATURES]) + np.eye(_CLASSES, _FEATURES)[y]
  return x.astype(np.float32), y


def _build(*, num_classes=_CLASSES, **options):
  return algorithms.build_fed_ncm(
    models.create_identity_features(_FEATURES),
    num_classes=num_classes,
    **options,
  )


def _run(process, x, y):
  clients = [
    tf.data.Dataset.from_tensor_slices((x[i::4], y[i::4])).batch(5)
    for i in range(4)
  ]
  return process.next(process.initialize(), clients).state


def _weights(x, y, **options):
  process = _build(**options)
  return process.get_model_weights(_run(process, x, y)).trainable


def _with_count(state, label, count):
  """Returns a state whose sums have another number of examples of a class."""
  moments = np.array(state['statistics']['moments'])
  moments[-1, label] = count
  return {**state, 'statistics': dict(moments=moments)}


class FedNcmTest(absltest.TestCase):
  def test_euclidean_predicts_as_nearest_centroids(self):
    x, y = _examples(60)
    test, _ = _examples(300, 1)
    kernel, bias = _weights(
      x,
      y,
      distance=algorithms.ClassDistance.EUCLIDEAN,
      accumulator_dtype=tf.float64,
    )
    centroids = neighbors.NearestCentroid().fit(x.astype(np.float64), y)
    # The weights are float32.
    np.testing.assert_allclose(kernel, centroids.centroids_.T, rtol=2.0**-24)
    np.testing.assert_array_equal(
      np.argmax(test @ kernel + bias, axis=1), centroids.predict(test)
    )

  def test_cosine_has_means_of_norm_one(self):
    x, y = _examples(60)
    kernel, bias = _weights(x, y, accumulator_dtype=tf.float64)
    for label in range(_CLASSES):
      mean = x[y == label].astype(np.float64).mean(axis=0)
      np.testing.assert_allclose(
        kernel[:, label], mean / np.linalg.norm(mean), rtol=2.0**-23
      )
    np.testing.assert_array_equal(bias, np.zeros(_CLASSES))

  def test_a_class_that_nobody_holds(self):
    x, y = _examples(60)
    kernel, bias = _weights(x, y, num_classes=_CLASSES + 1)
    np.testing.assert_array_equal(kernel[:, -1], 0)
    for distance in algorithms.ClassDistance:
      kernel, bias = _weights(x, y, num_classes=_CLASSES + 1, distance=distance)
      # All cosines may be negative.
      for scale in (-100, 100):
        scores = scale * _examples(300, 1)[0] @ kernel + bias
        self.assertNotIn(_CLASSES, np.argmax(scores, axis=1))

  def test_a_count_that_noise_made_negative_turns_no_class_round(self):
    process = _build()
    state = _run(process, *_examples(60))
    kernel, _ = process.get_model_weights(state).trainable
    noisy, _ = process.get_model_weights(_with_count(state, 1, -0.7)).trainable
    np.testing.assert_array_equal(noisy, kernel)
    with self.subTest('nor does one near zero count as a class seen'):
      _, metrics = process.next(_with_count(state, 1, 0.3), [])
      self.assertEqual(metrics['finalizer']['classes_seen'], _CLASSES - 1)

  def test_euclidean_never_chooses_a_class_of_noise(self):
    process = _build(distance=algorithms.ClassDistance.EUCLIDEAN)
    x, y = _examples(60)
    state = _run(process, x, y)
    for count in (-0.7, 0.3):
      kernel, bias = process.get_model_weights(
        _with_count(state, 1, count)
      ).trainable
      self.assertNotIn(1, np.argmax(100 * x @ kernel + bias, axis=1))

  def test_a_distance_is_a_member(self):
    with self.assertRaisesRegex(errors.InputError, "Distance, got 'cosine'"):
      _build(distance='cosine')

  def test_products_of_features_do_not_travel(self):
    measured = simulation.measure_wire_bytes(_build())
    self.assertEqual(measured.download, 0)
    self.assertEqual(measured.upload, 4 * (_FEATURES + 1) * _CLASSES + 4)
