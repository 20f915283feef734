# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The sums of one client against NumPy."""

import functools

from fedfish_tff import client_work
from fedfish_tff import errors
from fedfish_tff import models
from fedfish_tff.execution import contexts
from tests import tolerance

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_FEATURES, _CLASSES = 5, 3
_DATA = tff.types.SequenceType(
  tff.types.tensorflow_to_type(
    (
      tf.TensorSpec([None, _FEATURES], tf.float32),
      tf.TensorSpec([None], tf.int32),
    )
  )
)
_IDENTITY = models.create_identity_features(_FEATURES)


@functools.cache
def _build():
  return client_work.build_ridge_statistics(
    _IDENTITY, _DATA, num_classes=_CLASSES
  )


def _examples(number, seed=0):
  rng = np.random.default_rng(seed)
  return (
    rng.normal(size=[number, _FEATURES]).astype(np.float32),
    rng.integers(0, _CLASSES, number).astype(np.int32),
  )


def _dataset(x, y, batch_size=4):
  return tf.data.Dataset.from_tensor_slices((x, y)).batch(batch_size)


def _expected(features, y):
  phi = np.c_[np.asarray(features, np.float64), np.ones(len(y))]
  return phi.T @ phi, phi.T @ np.eye(_CLASSES)[y]


def _assert_sums(statistics, features, y, dtype):
  """Asserts sums of n products, each off by n roundings of it at most."""
  phi = np.abs(np.c_[np.asarray(features, np.float64), np.ones(len(y))])
  size = len(y) * np.finfo(dtype).eps
  bounds = size * phi.T @ phi, size * phi.T @ np.eye(_CLASSES)[y]
  names = ['gram', 'moments'][-len(statistics) :]
  for name, expected, bound in zip(
    names, _expected(features, y)[-len(names) :], bounds[-len(names) :]
  ):
    np.testing.assert_array_less(
      np.abs(statistics[name] - expected), bound + 1e-300
    )


class RidgeStatisticsTest(parameterized.TestCase):
  @parameterized.parameters(
    (tf.float32, 11, 1, 3),
    (tf.float64, 11, 4, 1024),
    (tf.float32, 11, 100, 3),
    # Features of 256 examples are multiplied at a time; others wait.
    (tf.float64, 256, 64, 3),
    (tf.float32, 600, 100, 1024),
    (tf.float64, 600, 599, 3),
  )
  def test_equal_numpy(self, dtype, number, batch_size, chunk_size):
    x, y = _examples(number)
    result = client_work.build_ridge_statistics(
      _IDENTITY,
      _DATA,
      num_classes=_CLASSES,
      accumulator_dtype=dtype,
      chunk_size=chunk_size,
    )(_dataset(x, y, batch_size))
    statistics = result['statistics']
    self.assertEqual(statistics['gram'].dtype, dtype.as_numpy_dtype)
    _assert_sums(statistics, x, y, dtype.as_numpy_dtype)
    self.assertEqual(result['excluded'], 0)

  def test_the_feature_map_is_applied(self):
    features = models.create_dense_features(
      num_inputs=_FEATURES, hidden_units=[6], seed=1
    )
    x, y = _examples(9)
    kernel, bias = features.initial_weights
    statistics = client_work.build_ridge_statistics(
      features, _DATA, num_classes=_CLASSES, accumulator_dtype=tf.float64
    )(_dataset(x, y))['statistics']
    # Features are float32: sums of 5 products and a bias, around 1 in size.
    for name, expected in zip(
      ('gram', 'moments'), _expected(np.maximum(x @ kernel + bias, 0), y)
    ):
      tolerance.assert_close(statistics[name], expected)

  def test_without_gram(self):
    x, y = _examples(9)
    statistics = client_work.build_ridge_statistics(
      _IDENTITY, _DATA, num_classes=_CLASSES, with_gram=False
    )(_dataset(x, y))['statistics']
    self.assertEqual(list(statistics), ['moments'])
    _assert_sums(statistics, x, y, np.float32)

  def test_a_client_without_data_gives_zeros(self):
    result = _build()(_dataset(*_examples(0)))
    self.assertEqual(result['excluded'], 0)
    for tensor in result['statistics'].values():
      self.assertFalse(np.any(tensor))

  @parameterized.parameters(np.nan, np.inf, 3e38)
  def test_sums_that_are_not_finite_are_left_out(self, value):
    x, y = _examples(9)
    x[5, 2] = value
    result = _build()(_dataset(x, y))
    self.assertEqual(result['excluded'], 1)
    for tensor in result['statistics'].values():
      self.assertFalse(np.any(tensor))

  @parameterized.parameters(1, 4, 16)
  def test_inputs_that_are_not_finite_are_told_of_whatever_the_features(
    self, batch_size
  ):
    # A relu makes nothing of them, or zero.
    features = models.FeatureMap(
      input_spec=tf.TensorSpec([None, _FEATURES], tf.float32),
      num_features=2,
      initial_weights=(),
      apply=lambda weights, x: tf.where(
        tf.math.is_finite(x[:, :2]), x[:, :2], 0.0
      ),
    )
    x, y = _examples(9)
    x[5, 1] = np.nan
    result = client_work.build_ridge_statistics(
      features, _DATA, num_classes=_CLASSES
    )(_dataset(x, y, batch_size))
    self.assertEqual(result['excluded'], 1)
    for tensor in result['statistics'].values():
      self.assertFalse(np.any(tensor))

  @parameterized.parameters(
    (-1, '-1 to 2'),
    (_CLASSES, '0 to 3'),
  )
  def test_labels_outside_of_the_classes_are_told(self, label, found):
    x, y = _examples(9)
    y[:] = np.arange(9) % _CLASSES
    y[6] = label
    computation = _build()
    with self.assertRaises(tf.errors.InvalidArgumentError) as caught:
      computation(_dataset(x, y, 9))
    self.assertEqual(
      errors.describe_failed_check(caught.exception),
      'The labels of a batch must be from 0 to 2, got labels from '
      f'{found} with 3 classes.',
    )

  def test_bad_arguments(self):
    for arguments, message in (
      (dict(num_classes=0), 'num_classes .*0'),
      (dict(num_classes=3, chunk_size=0), 'chunk_size .*got 0'),
      (dict(num_classes=3, accumulator_dtype=tf.float16), 'tf.float64'),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        client_work.build_ridge_statistics(_IDENTITY, _DATA, **arguments)
    narrow = models.FeatureMap(
      input_spec=tf.TensorSpec([None, _FEATURES], tf.float32),
      num_features=4,
      initial_weights=(),
      apply=lambda weights, x: x,
    )
    with self.assertRaisesRegex(errors.InputError, r'\[batch, 4\]'):
      client_work.build_ridge_statistics(narrow, _DATA, num_classes=3)


class CohortTest(absltest.TestCase):
  def test_runs_as_a_graph_over_the_cohort(self):
    context = contexts.create_context()
    statistics = _build()

    @tff.federated_computation(tff.FederatedType(_DATA, tff.CLIENTS))
    def total(data):
      return tff.federated_sum(tff.federated_map(statistics, data).statistics)

    clients = [_examples(n, n) for n in (3, 8)]
    with tff.framework.get_context_stack().install(context):
      result = total([_dataset(*c) for c in clients])
    x, y = (np.concatenate(a) for a in zip(*clients))
    _assert_sums(result, x, y, np.float32)
    self.assertEmpty(context.runner.general_path_reasons)
