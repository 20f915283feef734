# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the criterion that is measured in each round."""

from fedfish_tff.simulation import criterion
from fedfish_tff.simulation import hooks

from absl.testing import absltest


class _Process:
  def get_model_weights(self, state):
    return f'weights of {state}'


class CriterionTest(absltest.TestCase):
  def test_measures_at_the_weights_after_the_round(self):
    hook = criterion.Criterion(lambda *arguments: {'measured': arguments})
    round_ = hooks.Round(1, {'train/loss': 1.0}, _Process(), 'b', 'a', ('c',))
    hook.after_round(round_)
    self.assertEqual(
      round_.row, {'train/loss': 1.0, 'measured': ('weights of b', ('c',))}
    )
    self.assertEqual(hook.passes, 1)
