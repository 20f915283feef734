# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Recall over users, its error against many draws of users."""

import math

from launch.results import recall_table

from absl.testing import absltest
import numpy as np


class RecallTableTest(absltest.TestCase):
  def test_error_is_the_deviation_over_draws_of_users(self):
    rng = np.random.default_rng(0)

    def draw(users):
      typed = rng.integers(1, 200, users)
      # Users who type more are easier to predict.
      return rng.binomial(typed, 0.1 + 0.001 * typed), typed

    recalls = [recall_table.pool(*draw(400)) for _ in range(500)]
    values, errors = np.transpose(recalls)
    np.testing.assert_allclose(
      np.sqrt(np.mean(errors**2)), np.std(values), rtol=0.1
    )

  def test_one_user_has_no_error(self):
    recall = recall_table.pool(np.array([1]), np.array([4]))
    self.assertEqual(recall.value, 0.25)
    self.assertTrue(math.isnan(recall.error))

  def test_table(self):
    typed = np.array([10, 10])
    table = recall_table.format_table(
      {
        'n': {1: np.array([1, 1]), 3: np.array([1, 3])},
        'cifg': {1: np.array([2, 2]), 3: np.array([4, 4])},
      },
      typed,
    )
    self.assertEqual(
      table.splitlines()[:3],
      [
        'Model  Top-1 recall [%]  Top-3 recall [%]',
        'n      10.00 ± 0.00      20.00 ± 10.00',
        'cifg   20.00 ± 0.00      40.00 ± 0.00',
      ],
    )
    self.assertIn('20 words of 2 held-out users', table)
