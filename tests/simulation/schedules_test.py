# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of schedules in a run."""

from fedfish_tff.simulation import schedules

from absl.testing import absltest


class SchedulesTest(absltest.TestCase):
  def test_parameters_of_each_round(self):
    hook = schedules.Schedules(lambda r: {'rate': 1 / r})
    self.assertEqual(hook.before_round(1), {'rate': 1})
    self.assertEqual(hook.before_round(4), {'rate': 0.25})
