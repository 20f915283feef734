# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the barrier that is measured while a run trains."""

from fedfish_tff.simulation import barrier
from fedfish_tff.simulation import hooks

from absl.testing import absltest


class _Process:
  """A process whose state is its weights."""

  def get_model_weights(self, state):
    return state


class BarrierTest(absltest.TestCase):
  def test_measures_between_the_weights_before_and_after(self):
    hook = barrier.Barrier(lambda *arguments: {'measured': arguments})
    round_ = hooks.Round(1, {}, _Process(), 'after', 'before', ('client',))
    hook.after_evaluation(round_)
    self.assertEqual(round_.row, {'measured': ('before', 'after', ('client',))})
