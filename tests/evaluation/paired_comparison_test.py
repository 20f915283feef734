# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the paired comparison."""

# bazel: tags = ['smoke']

import warnings

from fedfish_tff import errors
from fedfish_tff.evaluation import paired_comparison

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies
import numpy as np
from scipy import stats


def _keyed(values):
  return dict(enumerate(values))


class ComparePairedTest(parameterized.TestCase):
  def test_interval_is_close_to_the_t_interval_for_normal_differences(self):
    rng = np.random.default_rng(1)
    a, b = rng.normal(0.5, 1, 400), rng.normal(0, 1, 400)
    result = paired_comparison.compare_paired(
      _keyed(a), _keyed(b), higher_is_better=True
    )
    low, high = stats.t.interval(
      0.95, 399, loc=np.mean(a - b), scale=stats.sem(a - b)
    )
    self.assertAlmostEqual(result.mean, np.mean(a - b))
    self.assertAlmostEqual(result.low, low, delta=0.02)
    self.assertAlmostEqual(result.high, high, delta=0.02)
    self.assertEqual(result.wins, np.sum(a > b))
    self.assertEqual((result.n, result.note), (400, ''))

  def test_pairing_removes_what_the_pairs_share(self):
    rng = np.random.default_rng(2)
    shared = rng.normal(0, 100, 20)
    a, b = shared + rng.normal(1, 0.1, 20), shared
    result = paired_comparison.compare_paired(
      _keyed(a), _keyed(b), higher_is_better=True
    )
    self.assertGreater(result.low, 0.8)
    self.assertLess(result.high, 1.2)

  def test_the_pairs_are_matched_by_key_not_by_order(self):
    a = {'x': 1.0, 'y': 2.0}
    b = {'y': 1.0, 'x': 0.5}
    result = paired_comparison.compare_paired(a, b, higher_is_better=True)
    self.assertAlmostEqual(result.mean, 0.75)
    self.assertEqual(result.wins, 2)

  @parameterized.parameters(2, 3)
  def test_of_few_seeds_the_interval_is_the_spread(self, num_seeds):
    values = [0.1, 0.3, 0.2][:num_seeds]
    result = paired_comparison.compare_paired(
      _keyed(values), _keyed([0.0] * num_seeds), higher_is_better=True
    )
    self.assertAlmostEqual(result.low, min(values))
    self.assertAlmostEqual(result.high, max(values))

  def test_it_is_repeatable(self):
    a, b = _keyed([1.0, 2.0, 4.0, 3.0]), _keyed([0.0, 2.5, 1.0, 2.0])
    results = [
      paired_comparison.compare_paired(a, b, higher_is_better=True)
      for _ in range(2)
    ]
    self.assertEqual(*results)

  def test_wins_follow_the_direction_of_the_metric(self):
    a, b = _keyed([1.0, 1.0, 3.0]), _keyed([2.0, 1.0, 2.0])
    for higher_is_better in (True, False):
      result = paired_comparison.compare_paired(
        a, b, higher_is_better=higher_is_better
      )
      self.assertEqual((result.wins, result.ties), (1, 1))
      self.assertEqual(result.mean, 0.0)

  def test_one_pair_has_no_interval(self):
    result = paired_comparison.compare_paired(
      {7: 0.9}, {7: 0.8}, higher_is_better=True
    )
    self.assertAlmostEqual(result.mean, 0.1)
    self.assertTrue(np.isnan(result.low) and np.isnan(result.high))
    self.assertIn('one pair', result.note)
    self.assertNotIn('nan', str(result))

  def test_equal_differences_have_an_interval_of_no_width(self):
    with warnings.catch_warnings():
      warnings.simplefilter('error')
      result = paired_comparison.compare_paired(
        _keyed([1.0, 2.0, 3.0]),
        _keyed([0.5, 1.5, 2.5]),
        higher_is_better=True,
      )
    self.assertEqual((result.low, result.mean, result.high), (0.5, 0.5, 0.5))
    self.assertIn('equal', result.note)

  def test_differences_equal_but_for_rounding_count_as_equal(self):
    a = _keyed([0.1 + 0.2, 0.3, 0.3])
    result = paired_comparison.compare_paired(
      a, _keyed([0.0, 0.0, 0.0]), higher_is_better=True
    )
    self.assertIn('equal', result.note)
    self.assertEqual(result.low, result.high)

  def test_missing_values_are_left_out_and_said(self):
    a = _keyed([1.0, float('nan'), 2.0])
    result = paired_comparison.compare_paired(
      a, _keyed([0.0, 0.0, 0.5]), higher_is_better=True
    )
    self.assertEqual(result.n, 2)
    self.assertAlmostEqual(result.mean, 1.25)
    self.assertIn('for want of a finite value: 1', result.note)

  def test_few_pairs_say_that_the_interval_is_too_narrow(self):
    for n, expected in ((2, True), (5, True), (6, False), (20, False)):
      a = {i: float(i) for i in range(n)}
      b = {i: -float(i) for i in range(n)}
      result = paired_comparison.compare_paired(a, b, higher_is_better=True)
      self.assertEqual('too narrow' in result.note, expected, n)

  def test_a_diverged_pair_is_missing_not_infinite(self):
    inf = float('inf')
    with warnings.catch_warnings():
      warnings.simplefilter('error')
      result = paired_comparison.compare_paired(
        _keyed([inf, 1.0, 0.5, inf]),
        _keyed([1.0, 0.9, 0.5, inf]),
        higher_is_better=False,
      )
    self.assertAlmostEqual(result.mean, 0.05)
    self.assertEqual((result.n, result.wins, result.ties), (2, 0, 1))
    self.assertEqual(
      result.note,
      'left out for want of a finite value: 2; few pairs: too narrow',
    )

  def test_no_finite_pair_says_so(self):
    a, b = _keyed([float('nan'), float('inf')]), _keyed([1.0, 2.0])
    flat = paired_comparison.compare_paired(a, b, higher_is_better=True)
    nested = paired_comparison.compare_nested(
      {0: a}, {0: b}, higher_is_better=True
    )
    for result in (flat, nested):
      self.assertEqual((result.n, result.wins, result.ties), (0, 0, 0))
      self.assertTrue(np.isnan([result.mean, result.low, result.high]).all())
      self.assertEqual(str(result), 'left out for want of a finite value: 2')

  def test_bad_input(self):
    with self.assertRaisesRegex(errors.InputError, 'only: 3'):
      paired_comparison.compare_paired(
        {1: 0.0, 3: 0.0}, {1: 0.0}, higher_is_better=True
      )
    with self.assertRaisesRegex(errors.InputError, 'no pair'):
      paired_comparison.compare_paired({}, {}, higher_is_better=True)

  @hypothesis.settings(deadline=None, max_examples=30)
  @hypothesis.given(
    strategies.lists(strategies.floats(-1e3, 1e3), min_size=2, max_size=12)
  )
  def test_the_interval_lies_within_the_differences(self, values):
    result = paired_comparison.compare_paired(
      _keyed(values),
      _keyed([0.0] * len(values)),
      higher_is_better=True,
      num_resamples=200,
    )
    slack = 1e-9 * (1 + np.max(np.abs(values)))
    self.assertGreaterEqual(result.low, min(values) - slack)
    self.assertLessEqual(result.high, max(values) + slack)
    self.assertLessEqual(result.low, result.high)


class CompareNestedTest(absltest.TestCase):
  def test_every_seed_counts_alike(self):
    a = {0: _keyed([1.0]), 1: _keyed([3.0, 3.0, 3.0])}
    b = {0: _keyed([0.0]), 1: _keyed([0.0, 0.0, 0.0])}
    result = paired_comparison.compare_nested(a, b, higher_is_better=True)
    self.assertEqual(result.mean, 2.0)
    # Drawing two of two seeds gives 1, 2 or 3, the extremes 1/4 each.
    self.assertEqual((result.low, result.high), (1.0, 3.0))
    self.assertEqual((result.n, result.wins), (4, 4))

  def test_variance_is_that_of_both_levels(self):
    rng = np.random.default_rng(3)
    num_seeds, num_clients = 60, 25
    effects = rng.normal(0, 1, (num_seeds, 1))
    values = effects + rng.normal(0, 2, (num_seeds, num_clients))
    a = {s: _keyed(values[s]) for s in range(num_seeds)}
    b = {s: _keyed(np.zeros(num_clients)) for s in range(num_seeds)}
    result = paired_comparison.compare_nested(a, b, higher_is_better=True)
    # The two-stage bootstrap's variance: that of the seeds' means plus the
    # mean of the variances within seeds, each over its number of draws.
    variance = (
      values.mean(axis=1).var() / num_seeds
      + values.var(axis=1).mean() / num_clients / num_seeds
    )
    half_width = 1.96 * np.sqrt(variance)
    self.assertAlmostEqual(
      (result.high - result.low) / 2, half_width, delta=0.04 * half_width
    )

  def test_one_seed_says_that_its_interval_is_over_clients(self):
    rng = np.random.default_rng(4)
    values = rng.normal(size=30)
    result = paired_comparison.compare_nested(
      {5: _keyed(values)}, {5: _keyed(np.zeros(30))}, higher_is_better=False
    )
    flat = paired_comparison.compare_paired(
      _keyed(values), _keyed(np.zeros(30)), higher_is_better=False
    )
    self.assertIn('one seed', result.note)
    self.assertAlmostEqual(result.low, flat.low, delta=0.05)
    self.assertAlmostEqual(result.high, flat.high, delta=0.05)
    self.assertEqual(result.wins, np.sum(values < 0))

  def test_diverged_clients_are_counted_in_the_note(self):
    nan = float('nan')
    a = {0: _keyed([1.0, nan]), 1: _keyed([nan, float('inf')])}
    b = {0: _keyed([0.5, 0.5]), 1: _keyed([0.5, 0.5])}
    result = paired_comparison.compare_nested(a, b, higher_is_better=True)
    self.assertEqual((result.mean, result.n), (0.5, 1))
    self.assertIn('for want of a finite value: 3', result.note)

  def test_degenerate_cases(self):
    result = paired_comparison.compare_nested(
      {0: {'c': 1.0}}, {0: {'c': 0.5}}, higher_is_better=True
    )
    self.assertTrue(np.isnan(result.low))
    self.assertIn('one pair', result.note)
    equal = paired_comparison.compare_nested(
      {0: {'c': 1.0}, 1: {'c': 1.0}},
      {0: {'c': 1.0}, 1: {'c': 1.0}},
      higher_is_better=True,
    )
    self.assertEqual((equal.low, equal.high, equal.ties), (0.0, 0.0, 2))

  def test_differing_seeds_and_clients_are_named(self):
    with self.assertRaisesRegex(errors.InputError, 'same seeds.*only: 2'):
      paired_comparison.compare_nested(
        {1: {'c': 0.0}, 2: {'c': 0.0}},
        {1: {'c': 0.0}},
        higher_is_better=True,
      )
    with self.assertRaisesRegex(errors.InputError, 'seed 1.*only: d'):
      paired_comparison.compare_nested(
        {1: {'c': 0.0, 'd': 0.0}}, {1: {'c': 0.0}}, higher_is_better=True
      )


if __name__ == '__main__':
  absltest.main()
