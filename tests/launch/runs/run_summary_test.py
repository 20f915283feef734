# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the summary of a run; training_run_test has whole ones."""

from launch.runs import run_summary

from absl.testing import absltest


class RunSummaryTest(absltest.TestCase):
  def test_the_best_round(self):
    rows = [
      {'round': 0, 'm': 1.0},
      {'round': 1},
      {'round': 2, 'm': 3.0},
      {'round': 3, 'm': float('nan')},
      {'round': 4, 'm': 3.0},
    ]
    find = run_summary._find_best
    self.assertEqual(
      find(rows, 'm', True), {'metric': 'm', 'value': 3.0, 'round': 2}
    )
    self.assertEqual(
      find(rows, 'm', False), {'metric': 'm', 'value': 1.0, 'round': 0}
    )
    self.assertIsNone(find(rows, 'other', True))
