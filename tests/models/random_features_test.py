# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Random features against the kernel that they approximate."""

from fedfish_tff import errors
from fedfish_tff import models
from tests import tolerance

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
from scipy.spatial import distance
from sklearn.metrics import pairwise
import tensorflow as tf

_X = np.random.default_rng(0).normal(size=[40, 6]).astype(np.float32)
_BANDWIDTH = 2.0


def _random_features(number, seed):
  features = models.create_random_features(
    models.create_identity_features(6),
    num_random_features=number,
    bandwidth=_BANDWIDTH,
    seed=seed,
  )
  return features((), tf.constant(_X)).numpy()


def _exact_kernel():
  """Returns the kernel k, and the variance of its estimate by one feature.

  That is of 2 cos(a + u) cos(b + u) = cos(a - b) + cos(a + b + 2 u): the second
  term is uniform in phase, with a variance of 1 / 2; the first, with a - b normal,
  has the mean k and the mean square (1 + k^4) / 2.
  """
  exact = pairwise.rbf_kernel(
    _X.astype(np.float64), gamma=1 / (2 * _BANDWIDTH**2)
  )
  return exact, 1 + exact**4 / 2 - exact**2


class RandomFeaturesTest(parameterized.TestCase):
  def test_kernel_error_falls_as_one_over_the_root_of_their_number(self):
    exact, variance = _exact_kernel()
    numbers = [50, 200, 800, 3200]
    rms = []
    for number in numbers:
      squares = []
      for seed in range(16):
        z = _random_features(number, seed).astype(np.float64)
        squares.append(np.mean((z @ z.T - exact) ** 2))
      # What is expected, to four standard errors over the seeds.
      self.assertAlmostEqual(
        np.mean(squares),
        np.mean(variance) / number,
        delta=4 * np.std(squares, ddof=1) / np.sqrt(len(squares)),
      )
      rms.append(np.sqrt(np.mean(squares)))
    slope, _ = np.polyfit(np.log(numbers), np.log(rms), 1)
    # Squares that spread as ours (by a quarter from seed to seed, so that the
    # root of a mean of 16 spreads by 3 %) give a slope that spreads by 0.01.
    self.assertAlmostEqual(slope, -0.5, delta=0.04)

  def test_is_unbiased(self):
    number = 50_000
    exact, variance = _exact_kernel()
    z = _random_features(number, 0).astype(np.float64)
    # 820 different pairs: none is off by five standard deviations. Float32
    # features are off by 1e-5 as they are cosines of angles around 30.
    np.testing.assert_array_less(
      np.abs(z @ z.T - exact), 5 * np.sqrt(variance / number) + 1e-5
    )

  def test_is_a_function_of_the_seed(self):
    first, again, other = (_random_features(20, s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    self.assertGreater(np.abs(first - other).max(), 0.01)

  def test_is_taken_of_the_map_s_features_and_keeps_its_weights(self):
    dense = models.create_dense_features(num_inputs=6, hidden_units=[5], seed=0)
    options = dict(num_random_features=9, bandwidth=1.0, seed=0)
    random = models.create_random_features(dense, **options)
    self.assertEqual(random.num_features, 9)
    tolerance.assert_same(random.initial_weights, dense.initial_weights)
    hidden = dense(dense.initial_weights, tf.constant(_X))
    tolerance.assert_close(
      random(random.initial_weights, tf.constant(_X)),
      models.create_random_features(
        models.create_identity_features(5), **options
      )((), hidden),
    )

  @parameterized.parameters(0.0, -1.0, np.nan, np.inf)
  def test_bad_bandwidth(self, bandwidth):
    with self.assertRaisesRegex(
      errors.InputError, f'bandwidth .*got {bandwidth}'
    ):
      models.create_random_features(
        models.create_identity_features(6),
        num_random_features=3,
        bandwidth=bandwidth,
        seed=0,
      )

  def test_bad_number(self):
    with self.assertRaisesRegex(errors.InputError, 'num_random_features'):
      models.create_random_features(
        models.create_identity_features(6),
        num_random_features=0,
        bandwidth=1.0,
        seed=0,
      )


class MedianBandwidthTest(absltest.TestCase):
  def test_equals_scipy(self):
    tolerance.assert_close(
      models.median_bandwidth(_X), np.median(distance.pdist(_X))
    )

  def test_of_many_a_thousand_are_drawn(self):
    many = np.random.default_rng(1).normal(size=[1500, 6])
    drawn = models.median_bandwidth(many, seed=3)
    self.assertEqual(models.median_bandwidth(many, seed=3), drawn)
    self.assertNotEqual(models.median_bandwidth(many, seed=4), drawn)
    self.assertAlmostEqual(drawn, np.median(distance.pdist(many)), delta=0.1)

  def test_bad_features(self):
    for features, message in (
      (_X[:1], r'shape .*6\)'),
      (_X[0], r'two examples at least, got \(6,\)'),
      (np.ones([5, 3]), 'median distance 0.0'),
      (np.full([5, 3], np.nan), 'median distance nan'),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        models.median_bandwidth(features)
