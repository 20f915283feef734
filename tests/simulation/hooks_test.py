# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the hook that does nothing, and of a resumed run."""

from fedfish_tff.simulation import hooks

from absl.testing import absltest


class HookTest(absltest.TestCase):
  def test_does_nothing_by_itself(self):
    hook = hooks.Hook()
    run = hooks.Run(0, None, lambda r: (), {}, list, lambda r: None)
    self.assertFalse(run.is_resumed)
    hook.begin(run)
    self.assertEqual(hook.before_round(1), {})
    round_ = hooks.Round(1, {'train/loss': 0.5}, None, 'state')
    for method in (
      hook.after_round,
      hook.finish,
      hook.after_evaluation,
      hook.complete_row,
    ):
      method(round_)
    hook.observe(1, round_.row)
    self.assertEqual(round_, hooks.Round(1, {'train/loss': 0.5}, None, 'state'))
    self.assertFalse(hook.keeps(1))
    self.assertEqual(hook.totals(), {})
    self.assertIsNone(hook.reason)

  def test_a_run_with_a_checkpoint_is_resumed(self):
    run = hooks.Run(0, 0, lambda r: (), {}, list, lambda r: None)
    self.assertTrue(run.is_resumed)
