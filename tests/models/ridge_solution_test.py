# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The solution from sums against scikit-learn on the examples."""

import itertools

from fedfish_tff import errors
from fedfish_tff import models
from tests import ridge_reference as ref
from tests import tolerance

from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import numpy as np
import tensorflow as tf


class SolveRidgeTest(parameterized.TestCase):
  @hypothesis.settings(max_examples=40)
  @hypothesis.given(
    number=st.integers(2, 60),
    num_features=st.integers(1, 12),
    num_classes=st.integers(2, 5),
    regularization=st.floats(1e-3, 1e3),
    bias=st.sampled_from(list(models.RidgeBias)),
    seed=st.integers(0, 2**30),
  )
  def test_equals_scikit_learn(
    self, number, num_features, num_classes, regularization, bias, seed
  ):
    x, y = ref.examples(number, num_features, num_classes, seed)
    actual = models.solve_ridge(
      *map(tf.constant, ref.sums(x, y, num_classes)),
      regularization,
      bias=bias,
      normalize_classes=False,
    )
    expected = ref.scikit_learn(x, y, num_classes, regularization, bias)
    scale = max(np.abs(expected[0]).max(), np.abs(expected[1]).max())
    for a, e in zip(actual, expected):
      np.testing.assert_allclose(
        a, e, rtol=0, atol=ref.rounding_bound(x, regularization) * scale
      )

  def test_many_blocks_of_pivots(self):
    x, y = ref.examples(700, 600, 3, 1)
    actual, _ = models.solve_ridge(
      *map(tf.constant, ref.sums(x, y, 3)),
      0.1,
      bias=models.RidgeBias.NONE,
      normalize_classes=False,
    )
    expected, _ = ref.scikit_learn(x, y, 3, 0.1, models.RidgeBias.NONE)
    np.testing.assert_allclose(
      actual, expected, rtol=1e-5, atol=1e-8 * np.abs(expected).max()
    )

  @parameterized.parameters(*models.RidgeBias)
  def test_normalized_classes_have_norm_one(self, bias):
    x, y = ref.examples(30, 5, 3, 2)
    sums = tuple(map(tf.constant, ref.sums(x, y, 3)))
    kernel, intercept = models.solve_ridge(
      *sums, 0.1, bias=bias, normalize_classes=False
    )
    unit, scaled = models.solve_ridge(
      *sums, 0.1, bias=bias, normalize_classes=True
    )
    tolerance.assert_same(
      models.solve_ridge(*sums, 0.1, bias=bias), (unit, scaled)
    )
    norms = np.linalg.norm(kernel, axis=0)
    np.testing.assert_allclose(unit, kernel / norms, rtol=1e-12)
    np.testing.assert_allclose(scaled, intercept / norms, rtol=1e-12)

  @parameterized.product(
    bias=list(models.RidgeBias), normalize_classes=[False, True]
  )
  def test_a_class_that_nobody_holds_has_weights_of_zero(
    self, bias, normalize_classes
  ):
    x, y = ref.examples(30, 5, 3, 3)
    kernel, intercept = models.solve_ridge(
      *map(tf.constant, ref.sums(x, y, 4)),
      0.1,
      bias=bias,
      normalize_classes=normalize_classes,
    )
    np.testing.assert_allclose(kernel[:, 3], 0, atol=1e-12)
    np.testing.assert_allclose(intercept[3], 0, atol=1e-12)

  def test_lambda_zero_is_least_squares(self):
    x, y = ref.examples(50, 4, 3, 5)
    kernel, bias = models.solve_ridge(
      *map(tf.constant, ref.sums(x, y, 3)), 0.0, normalize_classes=False
    )
    expected = np.linalg.lstsq(np.c_[x, np.ones(50)], np.eye(3)[y], rcond=None)[
      0
    ]
    np.testing.assert_allclose(kernel, expected[:-1], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(bias, expected[-1], rtol=1e-6, atol=1e-9)

  @parameterized.product(
    dtype=[np.float32, np.float64],
    bias=list(models.RidgeBias),
    size=[8, 300],
  )
  def test_a_singular_matrix_with_lambda_zero_is_told(self, dtype, bias, size):
    x, y = ref.examples(size // 2, size, 3, 6)
    hint = (
      r', or accumulator_dtype=tf\.float64 ' if dtype is np.float32 else r'\.'
    )
    with self.assertRaisesRegex(
      tf.errors.InvalidArgumentError,
      f'no ridge solution: A .* larger lambda, or more examples{hint}',
    ):
      models.solve_ridge(
        *map(tf.constant, ref.sums(x, y, 3, dtype)), 0.0, bias=bias
      )

  @parameterized.parameters(
    *zip((0.3, 0.3, 0.7, 1, 2, 5), itertools.cycle(models.RidgeBias))
  )
  def test_float32_sums_of_fewer_examples_than_features(self, scale, bias):
    """Either tell the solution, however they are divided, or it is said."""
    number, size, regularization = 300, 513, 0.01
    rng = np.random.default_rng(9)
    x = scale * np.maximum(rng.normal(size=[number, size - 1]), 0)
    x, y = x.astype(np.float32), rng.integers(0, 10, number)
    owners = [rng.integers(0, clients, number) for clients in (3, 40)]
    phi = np.c_[x, np.ones([number, 1], np.float32)]
    right = np.c_[phi, np.eye(10, dtype=np.float32)[y]]
    partitions = [
      sum(phi[o == i].T @ right[o == i] for i in range(o.max() + 1))
      for o in owners
    ]
    self.assertEqual(partitions[0].dtype, np.float32)
    exact = np.concatenate(ref.sums(x.astype(np.float64), y, 10), axis=1)
    solutions = []
    for sums in (*partitions, exact):
      statistics = dict(gram=sums[:, :size], moments=sums[:, size:])
      if (
        sums is not exact
        and 2.0**-23 * np.trace(exact[:, :size]) > regularization / 2
      ):
        sentence = (
          r'lambda = 0\.01 is too small for float32 sums of 300 examples, fewer '
          r'than the 513 .* rounded by about \S+ and lambda .* larger lambda, or '
          r'accumulator_dtype=tf\.float64 .*accumulator=float64\)\.'
        )
        with self.assertRaises(tf.errors.InvalidArgumentError) as caught:
          self._kernel(statistics, regularization, bias)
        self.assertRegex(
          errors.describe_failed_check(caught.exception), f'^{sentence}$'
        )
        with self.assertRaisesRegex(errors.InputError, f'^{sentence}$'):
          models.solve_ridge_path(
            models.create_identity_features(size - 1),
            statistics,
            [100.0, regularization],
            bias=bias,
          )
      else:
        solutions.append(self._kernel(statistics, regularization, bias))
    if scale >= 1:
      self.assertLen(solutions, 1)
      return
    # An entry is a sum of 300 positive terms, each addition of which rounds what
    # there is so far, k / 300 of the entry, by 2^-24 of it at most, which has a
    # third of that as its variance: in all a standard deviation of 2^-24 *
    # sqrt(300 / 9) = 3.5e-7 of the entry. The norm of a matrix of independent
    # entries is twice the largest norm of a row's deviations (Bandeira and van
    # Handel, 2016), and dW = (A + lambda I)^-1 (db - dA W).
    deviation = 2.0**-24 * np.sqrt(number / 9) * exact
    matrix = 2 * np.linalg.norm(deviation[:, :size], axis=1).max()
    right = np.linalg.norm(deviation[:, size:])
    norm = np.linalg.norm(solutions[-1])
    bound = (matrix * norm + right) / (regularization - matrix)
    # Else the bound would say nothing.
    self.assertLess(bound, 0.2 * norm)
    for solution in solutions[:-1]:
      self.assertLess(np.linalg.norm(solution - solutions[-1]), bound)

  def _kernel(self, statistics, regularization, bias):
    @tf.function
    def solve(gram, moments):
      return models.solve_ridge(
        gram, moments, regularization, bias=bias, normalize_classes=False
      )

    kernel, _ = solve(*map(tf.constant, statistics.values()))
    return kernel.numpy()

  @parameterized.parameters(-1.0, np.nan)
  def test_sums_that_are_no_sums_of_products_are_told(self, value):
    x, y = ref.examples(30, 5, 3, 7)
    gram, moments = ref.sums(x, y, 3)
    gram[2, 2] = value
    with self.assertRaisesRegex(
      tf.errors.InvalidArgumentError, 'not positive definite'
    ):
      models.solve_ridge(tf.constant(gram), tf.constant(moments), 0.01)


class RidgePathTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.x, self.y = ref.examples(40, 5, 3, 8)
    gram, moments = ref.sums(self.x, self.y, 3)
    self.statistics = dict(gram=gram, moments=moments)
    self.features = models.create_dense_features(
      num_inputs=2, hidden_units=[5], seed=0
    )

  @parameterized.product(
    bias=list(models.RidgeBias), normalize_classes=[False, True]
  )
  def test_equals_the_solutions_one_by_one(self, bias, normalize_classes):
    lambdas = [10.0, 0.01, 0.0]
    path = models.solve_ridge_path(
      self.features,
      self.statistics,
      lambdas,
      bias=bias,
      normalize_classes=normalize_classes,
    )
    self.assertEqual(list(path), lambdas)
    for regularization, weights in path.items():
      expected = models.solve_ridge(
        *map(tf.constant, self.statistics.values()),
        regularization,
        bias=bias,
        normalize_classes=normalize_classes,
      )
      *extractor, kernel, intercept = weights.trainable
      # The weights are float32.
      tolerance.assert_close(kernel, expected[0], relative=tolerance.FLOAT32)
      tolerance.assert_close(intercept, expected[1], relative=tolerance.FLOAT32)
      tolerance.assert_same(extractor, self.features.initial_weights)

  def test_bad_input(self):
    nothing = {k: 0 * v for k, v in self.statistics.items()}
    x, y = ref.examples(3, 5, 3, 8)
    gram, moments = ref.sums(x, y, 3)
    for statistics, lambdas, message in (
      (self.statistics, [], 'one lambda at least'),
      (self.statistics, [1.0, -1.0], 'lambda must be .*got -1.0'),
      (nothing, [1.0], 'got no example'),
      (
        dict(self.statistics, gram=np.eye(4)),
        [1.0],
        r'shape \(6, 6\), .* got \(4, 4\)',
      ),
      (
        dict(gram=gram, moments=moments),
        [1.0, 0.0],
        'lambda = 0 .*: A .* singular',
      ),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        models.solve_ridge_path(self.features, statistics, lambdas)
