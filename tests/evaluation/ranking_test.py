# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Comparisons that tell better values from rounding."""

from fedfish_tff import evaluation
from fedfish_tff.evaluation import ranking

from absl.testing import parameterized
import numpy as np


class GainsTest(parameterized.TestCase):
  @parameterized.named_parameters(
    # Barriers, of an accuracy of about 0.5.
    ('barriers', [3.6e-9, -7.8e-9, 0.0053], [0, 0, 0], 0.5, [0, 0, 0.0053]),
    ('small_unit', [1e-9, 2e-9], [2e-9, 2e-9], 0, [-1e-9, 0]),
    ('large_values', [300.0001, 300.01], [300, 300], 0, [0, 0.01]),
    # One outlier of ten is not the scale.
    ('outlier', [1e6] + [1.001] * 19, [1e6] + [1] * 19, 0, [0] + [0.001] * 19),
    # The fit of one client is within the rounding of the others'.
    ('small_pair', [2e-8] + [1] * 4, [1e-8] + [1] * 4, 0, [0] * 5),
    ('zeros', [0, 0], [0, 0], 0, [0, 0]),
    ('none', [], [], 0, []),
  )
  def test_a_tie_is_a_millionth_of_the_scale(self, a, b, scale, expected):
    for higher_is_better, sign in ((True, 1), (False, -1)):
      found = ranking.gains(
        a, b, higher_is_better=higher_is_better, scale=scale
      )
      np.testing.assert_allclose(found, sign * np.array(expected), 1e-6)

  def test_what_is_not_finite(self):
    inf, nan = np.inf, np.nan
    found = ranking.gains(
      [1, inf, inf, nan], [inf, 1, inf, 1], higher_is_better=True
    )
    np.testing.assert_array_equal(found, [-inf, inf, nan, nan])


class SelectBestTest(parameterized.TestCase):
  @parameterized.parameters(
    ({}, True, None),
    ({'a': np.nan}, True, None),
    ({'a': np.nan, 'b': -1.0, 'c': np.inf, 'd': np.inf}, True, 'c'),
    ({'a': 0.5, 'b': np.nan, 'c': -np.inf, 'd': 0.1}, False, 'c'),
    ({1: 0.3, 2: 0.3}, False, 1),
    # Better by rounding only.
    ({1: 0.3, 2: 0.3 + 1e-8, 3: 0.29}, True, 1),
  )
  def test_first_of_the_best_that_are_numbers(self, values, higher, best):
    selection = evaluation.select_best(values, higher_is_better=higher)
    if best is None:
      self.assertIsNone(selection)
    else:
      self.assertEqual(selection, (best, values))
