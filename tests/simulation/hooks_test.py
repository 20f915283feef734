# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A run tells whether it is resumed; training_loop_test has the hooks."""

from fedfish_tff.simulation import hooks

from absl.testing import absltest


class RunTest(absltest.TestCase):
  def test_a_run_with_a_checkpoint_is_resumed(self):
    for last_round in (None, 0):
      run = hooks.Run(0, last_round, lambda r: (), {}, list, lambda r: None)
      self.assertEqual(run.is_resumed, last_round == 0)
