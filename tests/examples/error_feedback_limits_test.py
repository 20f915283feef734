# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The tests that a new project has, of the examples that it is made of."""

from examples import error_feedback_limits

from absl.testing import absltest


class ErrorFeedbackLimitsTest(absltest.TestCase):
  def test_a_client_that_sends_everything_has_fed_avg(self):
    error_feedback_limits.test_a_client_that_sends_everything_has_fed_avg()

  def test_a_client_keeps_what_it_has_not_sent(self):
    error_feedback_limits.test_a_client_keeps_what_it_has_not_sent()
