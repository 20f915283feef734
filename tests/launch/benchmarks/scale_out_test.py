# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rounds on one and two actors."""

from tests.execution.ray import ray_test_case
from tests.launch import binary_runner

import pytest


class ScaleOutTest(ray_test_case.TestCase):
  @pytest.mark.slow
  def test_tables(self):
    outcome = binary_runner.run_here(
      'launch.benchmarks.scale_out',
      '--cases=softmax_1000',
      '--clients=6',
      '--repeats=1',
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    self.assertRegex(outcome.stdout, r'\nsoftmax_1000( +\d+\.\d+){7}\n')
    self.assertRegex(outcome.stdout, r'\n1000 +\d+ +\w')
