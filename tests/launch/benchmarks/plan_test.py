# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The plan names rows that there are."""

from launch.benchmarks import plan

from absl.testing import absltest


class PlanTest(absltest.TestCase):
  def test_special_rows_are_rows(self):
    self.assertContainsSubset(
      (plan.YARDSTICK, plan.FIRST_ROUND_ROW, plan.MEASURED_ONCE_ROW), plan.ROWS
    )

  def test_yardstick_comes_first(self):
    self.assertEqual(next(iter(plan.ROWS)), plan.YARDSTICK)

  def test_every_workload_has_the_yardstick(self):
    for workload in plan.PLANS.values():
      self.assertContainsSubset(workload.rows, plan.ROWS)
      self.assertEqual(workload.rows[0], plan.YARDSTICK)
      self.assertIn(plan.MEASURED_ONCE_ROW, workload.rows)


if __name__ == '__main__':
  absltest.main()
