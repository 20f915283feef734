# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the paired comparison."""

import itertools
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


def _compare(a, b, higher_is_better=True):
  return paired_comparison.compare_paired(
    _keyed(a), _keyed(b), higher_is_better=higher_is_better
  )


class ComparePairedTest(parameterized.TestCase):
  def test_interval_is_close_to_the_t_interval_for_normal_differences(self):
    rng = np.random.default_rng(1)
    a, b = rng.normal(0.5, 1, 400), rng.normal(0, 1, 400)
    result = _compare(a, b)
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
    result = _compare(a, b)
    self.assertGreater(result.low, 0.8)
    self.assertLess(result.high, 1.2)

  def test_the_pairs_are_matched_by_key_not_by_order(self):
    a = {'x': 1.0, 'y': 2.0}
    b = {'y': 1.0, 'x': 0.5}
    result = paired_comparison.compare_paired(a, b, higher_is_better=True)
    self.assertAlmostEqual(result.mean, 0.75)
    self.assertEqual(result.wins, 2)

  @parameterized.parameters(
    (1, '+0.1, better in 1 of 1; 1 pair: no interval'),
    (2, '+0.2, better in 2 of 2; 2 pairs: no interval'),
    (5, '+0.22, better in 5 of 5; 5 pairs: no interval'),
  )
  def test_fewer_than_six_pairs_have_neither_interval_nor_p(
    self, num_pairs, text
  ):
    values = [0.1, 0.3, 0.2, 0.4, 0.1][:num_pairs]
    result = _compare(values, [0.0] * num_pairs)
    self.assertTrue(np.isnan([result.low, result.high, result.p]).all())
    self.assertEqual(str(result), text)

  def test_what_rounding_decides_is_a_tie(self):
    # Accuracies of a mean over clients in float32, with differences that were
    # once 'better in 2 of 3'.
    b = _keyed([0.5, 0.7, 0.6])
    a = _keyed([0.5 + 3.6e-9, 0.7 - 7.8e-9, 0.6053])
    for higher_is_better, wins in ((True, 1), (False, 0)):
      result = paired_comparison.compare_paired(
        a, b, higher_is_better=higher_is_better
      )
      self.assertEqual((result.wins, result.ties), (wins, 2))
      self.assertAlmostEqual(result.mean, 0.0053 / 3)

  def test_all_ties(self):
    a, b = _keyed([0.5 + 1e-9] * 6), _keyed([0.5] * 6)
    for higher_is_better in (True, False):
      result = paired_comparison.compare_paired(
        a, b, higher_is_better=higher_is_better
      )
      self.assertEqual(
        str(result),
        '+0 [+0, +0], better in 0 of 6 (6 ties); all differences are equal',
      )
      self.assertEqual(result.p, 1.0)

  def test_it_is_repeatable(self):
    # So many pairs have an interval of random draws, and p of random flips.
    a, b = np.random.default_rng(0).normal(size=(2, 20))
    flat = [_compare(a, b) for _ in range(2)]
    nested = [
      paired_comparison.compare_nested(
        {seed: _keyed(a + seed) for seed in range(6)},
        {seed: _keyed(b) for seed in range(6)},
        higher_is_better=True,
      )
      for _ in range(2)
    ]
    # Not by ==, since NaN differs from itself.
    for one, other in (flat, nested):
      self.assertFalse(np.isnan(one.low))
      self.assertEqual(repr(one), repr(other))

  def test_wins_follow_the_direction_of_the_metric(self):
    a, b = _keyed([1.0, 1.0, 3.0]), _keyed([2.0, 1.0, 2.0])
    for higher_is_better in (True, False):
      result = paired_comparison.compare_paired(
        a, b, higher_is_better=higher_is_better
      )
      self.assertEqual((result.wins, result.ties), (1, 1))
      self.assertEqual(result.mean, 0.0)

  def test_equal_differences_have_an_interval_of_no_width(self):
    with warnings.catch_warnings():
      warnings.simplefilter('error')
      result = _compare(np.arange(1.0, 7.0), np.arange(0.5, 6.0))
    self.assertEqual((result.low, result.mean, result.high), (0.5, 0.5, 0.5))
    self.assertIn('equal', result.note)

  def test_the_interval_has_the_unit_of_the_metric(self):
    values = np.array([1.0, 4.0, 2.0, 3.0, 5.0, 7.0])
    result = _compare(values, 0 * values)
    for unit in (1e-9, 1e9):
      scaled = _compare(unit * values, 0 * values)
      np.testing.assert_allclose(
        [scaled.low, scaled.high], [unit * result.low, unit * result.high]
      )

  def test_differences_equal_but_for_rounding_count_as_equal(self):
    a = _keyed([0.1 + 0.2, *[0.3] * 5])
    result = paired_comparison.compare_paired(
      a, _keyed([0.0] * 6), higher_is_better=True
    )
    self.assertIn('equal', result.note)
    self.assertEqual(result.low, result.high)

  def test_a_diverged_pair_is_missing_not_infinite(self):
    inf = float('inf')
    with warnings.catch_warnings():
      warnings.simplefilter('error')
      result = _compare(
        [inf, 1.0, 0.5, inf], [1.0, 0.9, 0.5, inf], higher_is_better=False
      )
    self.assertAlmostEqual(result.mean, 0.05)
    self.assertEqual((result.n, result.wins, result.ties), (2, 0, 1))
    self.assertEqual(
      result.note,
      'left out for want of a finite value: 2; 2 pairs: no interval',
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
    for more, named in ((5, '5'), (6, '5, ...')):
      with self.assertRaisesRegex(
        errors.InputError, rf'only: 1, 2, 3, 4, {named}\.$'
      ):
        _compare([0.0], [0.0] * (1 + more))
    with self.assertRaisesRegex(errors.InputError, 'no pair'):
      paired_comparison.compare_paired({}, {}, higher_is_better=True)

  @hypothesis.settings(max_examples=30, deadline=None)
  @hypothesis.given(
    strategies.lists(strategies.floats(-1e3, 1e3), min_size=6, max_size=12)
  )
  def test_the_interval_lies_within_the_differences(self, values):
    result = _compare(values, [0.0] * len(values))
    # What rounding decides counts as 0.
    slack = 1e-6 * (1 + np.max(np.abs(values)))
    self.assertGreaterEqual(result.low, min(values) - slack)
    self.assertLessEqual(result.high, max(values) + slack)
    self.assertLessEqual(result.low, result.high)


class SignFlipsTest(parameterized.TestCase):
  @hypothesis.given(strategies.lists(strategies.integers(-9, 9), min_size=6))
  @hypothesis.settings(max_examples=20, deadline=None)
  def test_equals_all_flips(self, differences):
    differences = differences[:8]
    result = _compare(
      np.asarray(differences, float), np.zeros(len(differences))
    )
    sums = [
      np.dot(signs, differences)
      for signs in itertools.product((-1, 1), repeat=len(differences))
    ]
    expected = np.mean(np.abs(sums) >= abs(sum(differences)))
    self.assertAlmostEqual(result.p, expected)

  def test_many_pairs_have_that_of_random_flips(self):
    # Of 16 equal differences, k of at least 12 or at most 4 are positive.
    differences = [1.0] * 12 + [-1.0] * 4
    expected = stats.binomtest(12, 16).pvalue
    p = paired_comparison.flip_signs(differences)
    deviation = np.sqrt(expected * (1 - expected) / 9_999)
    self.assertAlmostEqual(p, expected, delta=4 * deviation)
    self.assertEqual(p, paired_comparison.flip_signs(differences))
    # Twenty wins are significant among many methods.
    self.assertLess(paired_comparison.flip_signs(np.arange(1.0, 21.0)), 1e-3)

  def test_flips_of_one_difference_are_as_large(self):
    self.assertEqual(paired_comparison.flip_signs([0.1]), 1.0)

  def test_a_mean_of_0_but_for_rounding_is_0(self):
    gains = [0.5, -0.5, 0.25, -0.25, 0.3, -0.1, -0.2]
    self.assertNotEqual(np.mean(gains), 0)
    self.assertEqual(paired_comparison.flip_signs(gains), 1.0)
    result = paired_comparison.compare_paired(
      dict(enumerate(gains)),
      dict.fromkeys(range(7), 0.0),
      higher_is_better=True,
    )
    self.assertEqual((result.mean, result.p), (0.0, 1.0))

  @parameterized.parameters(
    ([], 'none'), ([np.nan, 1.0], r'\[nan, 1.0\]'), ([np.inf], r'\[inf\]')
  )
  def test_flips_need_finite_differences(self, values, got):
    with self.assertRaisesRegex(
      errors.InputError,
      f'differences must be one finite number or more, got {got}',
    ):
      paired_comparison.flip_signs(values)

  @parameterized.parameters((1, 6), (2, 7), (3, 7), (4, 8), (10, 9))
  def test_the_fewest_pairs_that_reach_the_level(self, num_tests, expected):
    self.assertEqual(paired_comparison.fewest_pairs(num_tests), expected)
    for pairs, reaches in ((expected, True), (expected - 1, False)):
      p = paired_comparison.adjust_holm(
        [paired_comparison.flip_signs(np.ones(pairs))] * num_tests
      )
      self.assertEqual((p < paired_comparison.ALPHA).all(), reaches)

  def test_holm_leaves_out_what_has_no_p(self):
    adjusted = paired_comparison.adjust_holm([0.04, np.nan, 0.01, 0.03])
    np.testing.assert_allclose(adjusted, [0.06, np.nan, 0.03, 0.06])
    # A probability is at most 1.
    adjusted = paired_comparison.adjust_holm([0.6, 0.9])
    np.testing.assert_array_equal(adjusted, [1.0, 1.0])
    self.assertEmpty(paired_comparison.adjust_holm([]))


class FormatPTest(parameterized.TestCase):
  @parameterized.parameters(
    (0.0078125, '0.0078'),
    (0.04949, '0.049'),
    (0.0497, '0.0497'),
    (0.04999996, '0.04999996'),
    (0.05, '0.05'),
    (0.0501, '0.05'),
    (1.0, '1'),
  )
  def test_digits_tell_the_side_of_the_level(self, p, expected):
    self.assertEqual(paired_comparison.format_p(p), expected)


class CompareNestedTest(absltest.TestCase):
  def test_every_seed_counts_alike(self):
    a = {0: _keyed([7.0]), **dict.fromkeys(range(1, 6), _keyed([1.0] * 3))}
    b = {0: _keyed([0.0]), **dict.fromkeys(range(1, 6), _keyed([0.0] * 3))}
    result = paired_comparison.compare_nested(a, b, higher_is_better=True)
    self.assertEqual(result.mean, 2.0)
    # Of six draws, k are seed 0 with the chance of a binomial distribution: none
    # with 0.33, more than three with 0.0087.
    low, high = stats.binom(6, 1 / 6).ppf([0.025, 0.975])
    np.testing.assert_allclose((result.low, result.high), (1 + low, 1 + high))
    self.assertEqual((result.n, result.wins), (16, 16))

  def test_clients_of_a_seed_are_not_independent(self):
    # Each seed moves all its clients alike, so that a thousand clients tell no
    # more than their seven seeds.
    seeds = np.random.default_rng(5).normal(size=7)
    a = {i: _keyed([seed] * 150) for i, seed in enumerate(seeds)}
    b = {i: _keyed([0.0] * 150) for i in a}
    result = paired_comparison.compare_nested(a, b, higher_is_better=True)
    expected = stats.bootstrap(
      (seeds,), np.mean, method='percentile', random_state=0
    ).confidence_interval
    width = expected.high - expected.low
    self.assertAlmostEqual(result.low, expected.low, delta=0.05 * width)
    self.assertAlmostEqual(result.high, expected.high, delta=0.05 * width)
    # That of a thousand independent clients is twelve times narrower.
    self.assertTrue(np.isnan(result.p))

  def test_few_seeds_have_no_interval_however_many_their_clients(self):
    a = {seed: _keyed(np.arange(100.0)) for seed in range(5)}
    b = {seed: _keyed(np.zeros(100)) for seed in range(5)}
    result = paired_comparison.compare_nested(a, b, higher_is_better=True)
    self.assertTrue(np.isnan([result.low, result.high]).all())
    self.assertEqual(result.note, '5 seeds: no interval')

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
    self.assertIn('1 seed', result.note)
    equal = paired_comparison.compare_nested(
      {seed: {'c': 1.0} for seed in range(6)},
      {seed: {'c': 1.0} for seed in range(6)},
      higher_is_better=True,
    )
    self.assertEqual((equal.low, equal.high, equal.ties), (0.0, 0.0, 6))

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
