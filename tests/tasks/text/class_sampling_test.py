# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of samples with given proportions of the classes."""

from fedfish_tff import datasets
from tasks.text import class_sampling

from absl.testing import absltest
import hypothesis
from hypothesis import strategies
import numpy as np
from scipy import optimize

_LABELS = strategies.lists(strategies.integers(0, 3), min_size=1, max_size=60)


def _labels(values):
  return np.array(values, np.int32)


class ClassSamplingTest(absltest.TestCase):
  @hypothesis.settings(max_examples=60)
  @hypothesis.given(
    proportions=strategies.lists(
      strategies.floats(0, 1), min_size=4, max_size=4
    ),
    limits=strategies.lists(
      strategies.integers(0, 1000), min_size=4, max_size=4
    ),
    share=strategies.floats(0, 1),
  )
  def test_counts_are_proportional_below_the_limits(
    self, proportions, limits, share
  ):
    proportions = np.array(proportions)
    # Below, SciPy's own rounding would matter.
    proportions[proportions < 1e-6] = 0
    limits = np.array(limits)
    total = int(share * limits.sum())
    counts = class_sampling.count_by_class(total, proportions, limits)
    self.assertEqual(counts.sum(), total)
    self.assertTrue(np.all((counts >= 0) & (counts <= limits)))
    # Shares are min(limit, level * proportion), whatever order classes close.
    reachable = limits[proportions > 0].sum()
    if not 0 < total < reachable:
      expected = np.where(proportions > 0, limits, counts)
    else:
      level = optimize.brentq(
        lambda a: np.minimum(limits, a * proportions).sum() - total, 0, 1e10
      )
      expected = np.minimum(limits, level * proportions)
    if total:
      self.assertLess(np.abs(counts - expected).max(), 1 + 1e-3)

  def test_what_a_class_lacks_comes_from_the_others_in_proportion(self):
    counts = class_sampling.count_by_class(
      100, np.array([0.6, 0.2, 0.15, 0.05]), np.array([20, 100, 100, 100])
    )
    np.testing.assert_array_equal(counts, [20, 40, 30, 10])
    counts = class_sampling.count_by_class(
      100, np.array([1.0, 0, 0]), np.array([40, 100, 20])
    )
    np.testing.assert_array_equal(counts, [40, 50, 10])

  @hypothesis.settings(max_examples=40)
  @hypothesis.given(
    labels=_LABELS, share=strategies.floats(0, 1), seed=strategies.integers(0)
  )
  def test_even_samples(self, labels, share, seed):
    labels = _labels(labels)
    count = int(share * len(labels))
    found = class_sampling.sample_evenly(labels, count, ('x', seed))
    self.assertLen(found, count)
    self.assertLen(np.unique(found), count)
    np.testing.assert_array_equal(found, np.sort(found))
    np.testing.assert_array_equal(
      found, class_sampling.sample_evenly(labels, count, ('x', seed))
    )
    for label, size in zip(*np.unique(labels, return_counts=True)):
      self.assertLess(
        abs((labels[found] == label).sum() - size * count / len(labels)), 1.001
      )

  @hypothesis.settings(max_examples=40)
  @hypothesis.given(
    labels=_LABELS,
    share=strategies.floats(0, 1),
    seed=strategies.integers(0, 99),
  )
  def test_samples_in_proportion(self, labels, share, seed):
    labels = _labels(labels)
    proportions = np.random.default_rng(seed).dirichlet([0.5] * 4)
    sizes = np.bincount(labels, minlength=4)
    for with_replacement in (False, True):
      count = int(share * (len(labels) - 1)) + 1
      if with_replacement:
        count *= 2
      found = class_sampling.sample_in_proportion(
        labels,
        count,
        proportions,
        with_replacement=with_replacement,
        stream=datasets.random_generator('test', seed),
      )
      self.assertLen(found, count)
      if with_replacement:
        limits = np.where(sizes > 0, count, 0)
      else:
        self.assertLen(np.unique(found), count)
        limits = sizes
      np.testing.assert_array_equal(
        np.bincount(labels[found], minlength=4),
        class_sampling.count_by_class(count, proportions, limits),
      )

  def test_every_example_is_as_likely(self):
    labels = _labels([0] * 5 + [1] * 20)
    for with_replacement in (False, True):
      found = np.concatenate(
        [
          class_sampling.sample_in_proportion(
            labels,
            8,
            np.array([0.5, 0.5]),
            with_replacement=with_replacement,
            stream=datasets.random_generator('test', seed),
          )
          for seed in range(2000)
        ]
      )
      # 8,000 draws of each class; deviations of at most 40 and 20.
      counts = np.bincount(found)
      np.testing.assert_allclose(counts[:5], 1600, atol=200)
      np.testing.assert_allclose(counts[5:], 400, atol=100)
