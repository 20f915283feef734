# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the simulated time of a run."""

from fedfish_tff.simulation import hooks
from fedfish_tff.simulation import simulated_time
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
        hook = simulated_time.SimulatedTime(_wall_clock)
        hook.begin(_run(last_round))
        done = last_round or 3
        self.assertEqual(
          self._columns(hook, range(done + 1, 7)), expected[done - 3 :]
        )
        self.assertEqual(hook.totals(), {'simulated_seconds': seconds[-1]})

  def test_the_row_of_the_start(self):
    hook = simulated_time.SimulatedTime(_wall_clock)
    hook.begin(_run(None))
    round_ = training_runs.make_round(3, ())
    hook.complete_row(round_)
    self.assertEqual(round_.row, {'simulated/seconds': 20})
