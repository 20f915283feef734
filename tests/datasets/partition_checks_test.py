# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the checks and draws of partitions, and of natural keys."""

import collections
import re

from fedfish_tff import errors
from fedfish_tff.datasets import dirichlet_draws
from fedfish_tff.datasets import natural_key
from fedfish_tff.datasets import partition_checks

from absl.testing import parameterized
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
from scipy import stats


class PartitionChecksTest(parameterized.TestCase):
  def test_labels_may_be_any_vector(self):
    for labels in ([1, 2], ['a'], np.zeros(3)):
      np.testing.assert_array_equal(
        partition_checks.check_labels(labels), labels
      )

  @parameterized.parameters(([],), (5,), (np.zeros([2, 2]),))
  def test_labels_that_are_no_vector(self, labels):
    with self.assertRaisesRegex(errors.InputError, 'coarse labels to'):
      partition_checks.check_labels(labels, 'coarse labels')

  def test_vectors_are_not_called_labels(self):
    with self.assertRaisesRegex(
      errors.InputError, r'keys .*vector with one entry per .*\[0\]'
    ):
      partition_checks.check_vector([], 'keys')

  @parameterized.parameters(([None, 'a'],), ([1, 'a'],), ([None, 1.5],))
  def test_labels_without_an_order(self, labels):
    with self.assertRaisesRegex(
      errors.InputError, 'labels to partition by .*cannot be put in order'
    ):
      partition_checks.check_labels(np.array(labels, object))

  @parameterized.parameters(
    ([0.0, np.nan, 1.0, np.nan],),
    (np.array([0.0, np.nan, 1.0, np.nan], object),),
    (np.array(['2026-01-01', 'NaT', '2026-01-02', 'NaT'], 'datetime64[D]'),),
  )
  def test_missing_labels(self, labels):
    with self.assertRaisesRegex(
      errors.InputError, '(?i)got na[nt] for 2 of 4, the first at position 1'
    ):
      partition_checks.check_labels(labels)

  def test_numbers_in_range(self):
    partition_checks.check_concentration('alpha', 1e-300)
    partition_checks.check_concentration('alpha', 1e100)
    partition_checks.check_enough_examples(6, num_clients=2, min_examples=3)

  @parameterized.parameters(0, -0.1, 1e308, np.inf, np.nan)
  def test_not_a_concentration(self, value):
    with self.assertRaisesRegex(
      errors.InputError, rf'beta must be .*got {re.escape(str(value))}'
    ):
      partition_checks.check_concentration('beta', value)

  def test_too_few_examples(self):
    with self.assertRaisesRegex(
      errors.InputError, '5 examples cannot give 2 clients at least 3 each'
    ):
      partition_checks.check_enough_examples(5, num_clients=2, min_examples=3)


class DirichletDrawsTest(parameterized.TestCase):
  @parameterized.parameters(0.01, 0.1, 1.0, 30.0)
  def test_proportions_are_beta_distributed(self, scale):
    concentration = scale * np.array([1.0, 2.0, 0.5])
    drawn = dirichlet_draws.draw_dirichlet(
      np.random.default_rng(0), concentration, 4000
    )
    self.assertEqual(drawn.shape, (4000, 3))
    np.testing.assert_allclose(drawn.sum(axis=1), 1)
    for proportions, a in zip(drawn.T, concentration):
      marginal = stats.beta(a, concentration.sum() - a)
      # Not at all points: many a proportion is 1 up to rounding.
      for point in (1e-6, 0.1, 0.5, 0.9, 1 - 1e-6):
        below = int(np.count_nonzero(proportions <= point))
        found = stats.binomtest(below, 4000, marginal.cdf(point))
        self.assertGreater(found.pvalue, 0.002)

  @parameterized.parameters(0.5, 3.0)
  def test_logarithms_are_those_of_gamma_variates(self, shape):
    drawn = dirichlet_draws.draw_log_gamma(
      np.random.default_rng(1), np.array([shape]), 4000
    )
    found = stats.kstest(np.exp(drawn[:, 0]), stats.gamma(shape).cdf)
    self.assertGreater(found.pvalue, 0.01)

  def test_concentrations_beyond_floats(self):
    for concentration in (0.0, 1e-300, 1e-12):
      drawn = dirichlet_draws.draw_dirichlet(
        np.random.default_rng(2), np.full(4, concentration), 2000
      )
      np.testing.assert_array_equal(np.sort(drawn, axis=1)[:, :-1], 0)
      # Each of the four is as likely as the others.
      found = stats.chisquare(drawn.sum(axis=0))
      self.assertGreater(found.pvalue, 0.01)


_KEYS = st.one_of(
  st.lists(st.integers(-3, 12), min_size=1, max_size=50),
  st.lists(st.booleans(), min_size=1, max_size=50),
  st.lists(st.sampled_from(['b', '', 'a/b', 'ä']), min_size=1, max_size=50),
)


class PartitionByKeyTest(parameterized.TestCase):
  @given(keys=_KEYS, min_examples=st.integers(1, 5), as_objects=st.booleans())
  def test_groups_are_those_of_a_dictionary(
    self, keys, min_examples, as_objects
  ):
    groups = collections.defaultdict(list)
    for index, key in enumerate(keys):
      groups[key].append(index)
    expected = {
      str(key): groups[key]
      for key in sorted(groups)
      if len(groups[key]) >= min_examples
    }
    array = np.array(keys, object if as_objects else None)
    if not expected:
      with self.assertRaisesRegex(errors.InputError, 'most frequent'):
        natural_key.partition_by_key(array, min_examples=min_examples)
      return
    names, clients = natural_key.partition_by_key(
      array, min_examples=min_examples
    )
    self.assertEqual(list(names), list(expected))
    for name, indices in zip(names, clients, strict=True):
      self.assertEqual(list(indices), expected[name])
      self.assertEqual(indices.dtype, np.int64)

  @parameterized.parameters('S', object)
  def test_bytes_become_text(self, dtype):
    names, clients = natural_key.partition_by_key(
      np.array(['ä'.encode(), b'\xff', b'b', b'b'], dtype)
    )
    self.assertCountEqual(names, ['ä', r'\xff', 'b'])
    self.assertEqual(list(clients[names.index('b')]), [2, 3])

  def test_objects_of_several_types(self):
    keys = [b'b', 10, 'a', np.int64(2), True, 10, np.bool_(False), 1, np.True_]
    names, clients = natural_key.partition_by_key(np.array(keys, object))
    self.assertEqual(names, ('False', 'True', '1', '2', '10', 'a', 'b'))
    self.assertEqual(
      [list(indices) for indices in clients],
      [[6], [4, 8], [7], [3], [1, 5], [2], [0]],
    )

  @parameterized.parameters(
    ([1, '1', 2], '1'),
    (np.array([1, '1'], object), '1'),
    (np.array([True, 'True'], object), 'True'),
    (np.array([b'a', 'a'], object), 'a'),
    (np.array([b'\xff', rb'\xff']), r'\\\\xff'),
  )
  def test_keys_with_one_name(self, keys, name):
    with self.assertRaisesRegex(
      errors.InputError, f"2 different ones that are '{name}' as text"
    ):
      natural_key.partition_by_key(keys)

  @parameterized.parameters(
    ([], 'keys .* one entry per example'),
    ([[1]], 'shape'),
    ([0.5, 1.0], 'integers or strings, got 0.5'),
    (np.array([0.5, 1.0]), 'float64'),
    (np.array([None, 'a'], object), 'integers or strings, got None'),
  )
  def test_bad_keys(self, keys, regex):
    with self.assertRaisesRegex(errors.InputError, regex):
      natural_key.partition_by_key(keys)

  def test_bad_minimum(self):
    with self.assertRaisesRegex(errors.InputError, 'min_examples .*0'):
      natural_key.partition_by_key(['a'], min_examples=0)
