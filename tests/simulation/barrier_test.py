# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the barrier that is measured while a run trains."""

from fedfish_tff.simulation import barrier
from fedfish_tff.simulation import hooks

from absl.testing import absltest
import tensorflow as tf


class _Process:
  """A process whose state is its weights; 'none' has no model."""

  def get_model_weights(self, state):
    if state == 'none':
      with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        session.run(tf.debugging.Assert(False, ['There is no model.']))
    return state


class BarrierTest(absltest.TestCase):
  def test_measures_between_the_weights_before_and_after(self):
    hook = barrier.Barrier(lambda *arguments: {'measured': arguments})
    round_ = hooks.Round(1, {}, _Process(), 'after', 'before', ('client',))
    hook.after_evaluation(round_)
    self.assertEqual(round_.row, {'measured': ('before', 'after', ('client',))})

  def test_without_a_model_on_either_side_there_is_no_column(self):
    hook = barrier.Barrier(lambda *unused_arguments: {'measured': 1.0})
    for old_state, state in (('none', 'b'), ('a', 'none')):
      round_ = hooks.Round(7, {}, _Process(), state, old_state)
      with self.assertLogs(level='WARNING') as logs:
        hook.after_evaluation(round_)
      self.assertEqual(round_.row, {})
      self.assertIn(
        'The barrier of round 7 was not measured. There is no model.',
        logs.output[0],
      )
