# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of ranks over blocks, with the numbers of Demsar (JMLR 7, 2006)."""

import dataclasses

from fedfish_tff import errors
from research.equal_terms import ranks

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pandas as pd
from scipy import stats

# Table 6 of the paper: the AUC of C4.5 and three versions on 14 data sets. The
# paper ranks the last two values of the 13th row 2 and 3, by further digits.
_C45, _M, _CF, _M_CF = 'C4.5', 'C4.5+m', 'C4.5+cf', 'C4.5+m+cf'
_TABLE_6 = pd.DataFrame(
  [
    (0.763, 0.768, 0.771, 0.798),
    (0.599, 0.591, 0.590, 0.569),
    (0.954, 0.971, 0.968, 0.967),
    (0.628, 0.661, 0.654, 0.657),
    (0.882, 0.888, 0.886, 0.898),
    (0.936, 0.931, 0.916, 0.931),
    (0.661, 0.668, 0.609, 0.685),
    (0.583, 0.583, 0.563, 0.625),
    (0.775, 0.838, 0.866, 0.875),
    (1.000, 1.000, 1.000, 1.000),
    (0.940, 0.962, 0.965, 0.962),
    (0.619, 0.666, 0.614, 0.669),
    (0.972, 0.981, 0.9753, 0.975),
    (0.957, 0.978, 0.946, 0.970),
  ],
  columns=[_C45, _M, _CF, _M_CF],
)
# Table 5 of the paper: q at 0.05 by the number of classifiers.
_Q = {2: 1.960, 3: 2.343, 4: 2.569, 5: 2.728, 6: 2.850, 7: 2.949}
_Q |= {8: 3.031, 9: 3.102, 10: 3.164}


class RanksTest(parameterized.TestCase):
  def test_the_papers_example(self):
    test = ranks.rank(_TABLE_6)
    published = {_M_CF: 1.964, _M: 2.000, _CF: 2.893, _C45: 3.143}
    self.assertEqual(list(test.ranks.index), list(published))
    for method, mean in published.items():
      self.assertAlmostEqual(test.ranks[method], mean, 3)
    self.assertAlmostEqual(test.chi_squared, 9.28, 2)
    self.assertAlmostEqual(test.f, 3.69, 2)
    # The critical value of F(3, 39) at 0.05 is 2.85.
    self.assertLess(test.p, 0.05)
    self.assertAlmostEqual(test.p, stats.f.sf(3.69, 3, 39), 3)
    self.assertAlmostEqual(test.critical_difference, 1.25, 2)

  def test_the_papers_comparison_with_a_control(self):
    found = ranks.compare_with(ranks.rank(_TABLE_6), _C45)
    published = {_M_CF: (2.416, 0.016), _M: (2.342, 0.019), _CF: (0.512, 0.607)}
    for method, (z, p) in published.items():
      self.assertAlmostEqual(found['z'][method], z, 2)
      self.assertAlmostEqual(found['p'][method], p, 2)
    # The paper's Holm procedure rejects the first two at 0.05.
    holm = found['p_holm']
    self.assertAlmostEqual(holm[_M_CF], 3 * found['p'][_M_CF], 9)
    self.assertLess(holm[_M_CF], 0.05)
    self.assertLess(holm[_M], 0.05)
    self.assertAlmostEqual(holm[_CF], found['p'][_CF], 9)

  @parameterized.parameters(*_Q.items())
  def test_critical_values(self, k, q):
    scores = pd.DataFrame(np.arange(7 * k).reshape(7, k))
    found = ranks.rank(scores).critical_difference
    self.assertAlmostEqual(found / (k * (k + 1) / (6 * 7)) ** 0.5, q, 2)

  @parameterized.parameters(True, False)
  def test_friedmans_statistic_is_scipys_without_ties(self, higher):
    scores = pd.DataFrame(np.random.default_rng(0).normal(size=(8, 5)))
    expected = stats.friedmanchisquare(*scores.to_numpy().T).statistic
    found = ranks.rank(scores, higher_is_better=higher)
    self.assertAlmostEqual(found.chi_squared, expected, 9)

  def test_a_diverged_run_is_the_worst(self):
    scores = pd.DataFrame(
      {'a': [0.1, np.nan], 'b': [0.2, 0.0], 'c': [0.3, 0.1]}
    )
    self.assertEqual(
      ranks.rank(scores).ranks.to_dict(), {'c': 1.0, 'b': 2.0, 'a': 3.0}
    )

  def test_equal_orders_everywhere_are_certain(self):
    test = ranks.rank(pd.DataFrame([[3, 2, 1]] * 40, columns=list('abc')))
    self.assertEqual(test.p, 0.0)
    self.assertIn('the same order', ranks.tell_friedman(test))
    # With two other ranks in one of two blocks, SciPy's statistic is 3 of 4.
    swapped = ranks.rank(pd.DataFrame([[3, 2, 1], [2, 3, 1]]))
    self.assertAlmostEqual(swapped.f, (2 - 1) * 3 / (2 * (3 - 1) - 3))
    example = ranks.rank(_TABLE_6)
    self.assertRegex(ranks.tell_friedman(example), r'F = 3\.69, p = 0\.02')
    self.assertEqual(ranks.find_cliques(test), [])

  def test_cliques(self):
    test = ranks.RankTest(
      ranks=pd.Series([1.0, 1.8, 2.5, 4.0, 6.0], list('abcde')),
      num_blocks=9,
      chi_squared=0.0,
      f=0.0,
      p=1.0,
      critical_difference=1.6,
    )
    # a to c lie within 1.6, c and d too; b and c are within a to c.
    self.assertEqual(ranks.find_cliques(test), [('a', 'c'), ('c', 'd')])
    closer = dataclasses.replace(test, critical_difference=0.75)
    self.assertEqual(ranks.find_cliques(closer), [('b', 'c')])
    # The first two alone are a group, too.
    pairs = dataclasses.replace(test, ranks=test.ranks[['a', 'b', 'd']])
    self.assertEqual(ranks.find_cliques(pairs), [('a', 'b')])

  def test_wrong_input(self):
    with self.assertRaisesRegex(errors.InputError, 'two blocks and two'):
      ranks.rank(_TABLE_6[:1])
    with self.assertRaisesRegex(errors.InputError, 'control'):
      ranks.compare_with(ranks.rank(_TABLE_6), 'C5')


if __name__ == '__main__':
  absltest.main()
