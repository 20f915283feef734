# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the toy regression task."""

from fedfish_tff import errors
from tasks.tabular import toy_regression

from absl.testing import parameterized
import numpy as np
from scipy import stats


def _in_ranges(x, ranges):
  return np.any([(low <= x) & (x <= high) for low, high in ranges], axis=0)


class ToyRegressionTest(parameterized.TestCase):
  @parameterized.parameters('full', 'partial', 'none')
  def test_points_are_uniform_on_their_ranges(self, overlap):
    task = toy_regression.create_task(
      seed=0, overlap=overlap, num_examples=2000
    )
    left, right = toy_regression.RANGES[overlap]
    self.assertEqual(task.train.client_ids, ('client_0', 'client_1'))
    for data, client_id, ranges in (
      (task.train, 'client_0', (left,)),
      (task.train, 'client_1', (right,)),
      (task.validation, 'validation', (left, right)),
      (task.test, 'test', (left, right)),
    ):
      x, y = data.load_client(client_id)
      self.assertEqual((x.shape, y.shape), ((2000, 1), (2000, 1)))
      self.assertEqual((x.dtype, y.dtype), (np.float32, np.float32))
      self.assertTrue(np.all(_in_ranges(x, ranges)))
      # Uniform on the union: mapped to [0, 1] by the measure to the left.
      grid = np.linspace(-2, 2, 4001)
      measure = np.cumsum(_in_ranges(grid, ranges))
      mapped = np.interp(x[:, 0], grid, measure / measure[-1])
      self.assertGreater(stats.kstest(mapped, 'uniform').pvalue, 1e-3)
      residuals = (y - np.sin(3 * x))[:, 0] / 0.05
      self.assertGreater(stats.kstest(residuals, 'norm').pvalue, 1e-3)

  def test_overlap_is_as_named(self):
    def num_common(overlap):
      task = toy_regression.create_task(seed=0, overlap=overlap)
      a, b = (task.train.load_client(c)[0] for c in ('client_0', 'client_1'))
      return np.sum(a > b.min()), len(a)

    self.assertEqual(num_common('none'), (0, 100))
    self.assertBetween(num_common('partial')[0], 20, 80)
    self.assertGreater(num_common('full')[0], 90)

  def test_clients_do_not_share_points(self):
    task = toy_regression.create_task(seed=0, overlap='full')
    a, b = (task.train.load_client(c)[0] for c in ('client_0', 'client_1'))
    self.assertEmpty(np.intersect1d(a, b))

  def test_model(self):
    weights, _ = (
      toy_regression.create_task(seed=0).create_model().initial_weights
    )
    self.assertEqual(
      [w.shape for w in weights],
      [(1, 32), (32,), (32, 32), (32,), (32, 1), (1,)],
    )

  def test_gaussian_units(self):
    task = toy_regression.create_task(
      seed=0, units='gaussian', hidden_units=(128,), slope=8.0
    )
    kernel, *_ = task.create_model().initial_weights[0]
    self.assertBetween(kernel.std(), 6, 10)

  def test_an_unknown_activation(self):
    with self.assertRaisesRegex(errors.InputError, "activation .*'sine'"):
      toy_regression.create_task(seed=0, units='sine').create_model()
