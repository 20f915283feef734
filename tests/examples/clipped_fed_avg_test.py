# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The tests that a new project has, of the examples that it is made of."""

from examples import clipped_fed_avg_limits

from absl.testing import absltest


class ClippedFedAvgTest(absltest.TestCase):
  def test_a_large_norm_is_that_of_fed_avg(self):
    clipped_fed_avg_limits.test_a_large_norm_is_that_of_fed_avg()

  def test_no_round_moves_the_model_further_than_the_norm(self):
    clipped_fed_avg_limits.test_no_round_moves_the_model_further_than_the_norm()
