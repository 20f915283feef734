# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the hooks that call one function in each round."""

from fedfish_tff.simulation import hooks
from fedfish_tff.simulation import round_hooks
from tests import training_runs

from absl.testing import absltest
import numpy as np

_COHORTS = {4: ('a',), 5: ('a', 'bbb'), 6: ('cc',)}


def _wall_clock(round_number, client_ids):
  return round_number / 8 + max(map(len, client_ids))


def _run(last_round):
  return hooks.Run(
    first_round=3,
    last_round=last_round,
    participation=_COHORTS.__getitem__,
    start_totals={'simulated_seconds': 20},
    read_rows=list,
    load=lambda unused_round: None,
  )


class _Process:
  def get_model_weights(self, state):
    return f'weights of {state}'


class SchedulesTest(absltest.TestCase):
  def test_parameters_of_each_round(self):
    hook = round_hooks.Schedules(lambda r: {'rate': 1 / r})
    self.assertEqual(hook.before_round(1), {'rate': 1})
    self.assertEqual(hook.before_round(4), {'rate': 0.25})


class SimulatedTimeTest(absltest.TestCase):
  def _columns(self, hook, rounds):
    columns = []
    for number in rounds:
      round_ = training_runs.make_round(number, _COHORTS[number])
      hook.after_round(round_)
      hook.complete_row(round_)
      columns.append(round_.row)
    return columns

  def test_adds_up_rounds_from_a_start_and_from_a_checkpoint(self):
    seconds = np.cumsum([20 + 1 + 4 / 8, 3 + 5 / 8, 2 + 6 / 8])
    expected = [{'simulated/seconds': s} for s in seconds]
    for last_round in (None, 4, 5):
      with self.subTest(last_round=last_round):
        hook = round_hooks.SimulatedTime(_wall_clock)
        hook.begin(_run(last_round))
        done = last_round or 3
        self.assertEqual(
          self._columns(hook, range(done + 1, 7)), expected[done - 3 :]
        )
        self.assertEqual(hook.totals(), {'simulated_seconds': seconds[-1]})

  def test_the_row_of_the_start(self):
    hook = round_hooks.SimulatedTime(_wall_clock)
    hook.begin(_run(None))
    round_ = training_runs.make_round(3, ())
    hook.complete_row(round_)
    self.assertEqual(round_.row, {'simulated/seconds': 20})


class CriterionTest(absltest.TestCase):
  def test_measures_at_the_weights_after_the_round(self):
    hook = round_hooks.Criterion(lambda *arguments: {'measured': arguments})
    round_ = hooks.Round(1, {'train/loss': 1.0}, _Process(), 'b', 'a', ('c',))
    hook.after_round(round_)
    self.assertEqual(
      round_.row, {'train/loss': 1.0, 'measured': ('weights of b', ('c',))}
    )
    self.assertEqual(hook.passes, 1)


class BarrierTest(absltest.TestCase):
  def test_measures_between_the_weights_before_and_after(self):
    hook = round_hooks.Barrier(lambda *arguments: {'measured': arguments})
    round_ = hooks.Round(1, {}, _Process(), 'after', 'before', ('client',))
    hook.after_evaluation(round_)
    self.assertEqual(
      round_.row,
      {'measured': ('weights of before', 'weights of after', ('client',))},
    )
