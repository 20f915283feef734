# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of rounds with a deadline against a simulation of their events."""

import heapq

from fedfish_tff import errors
from fedfish_tff.simulation import client_speeds
from fedfish_tff.simulation import deadlines
from fedfish_tff.simulation import participation
from fedfish_tff.simulation import round_hooks
from fedfish_tff.simulation import speed_participation
from tests import training_runs

from absl.testing import absltest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np

_IDS = tuple(f'client {i:02}' for i in range(20))


def _simulate(asked, seconds, *, size, deadline):
  """Returns the answers taken, the time of the end, and the lost clients."""
  queue = [(seconds[c], i, c) for i, c in enumerate(asked)]
  heapq.heapify(queue)
  taken, now = [], 0.0
  while queue and len(taken) < size:
    time, _, client = heapq.heappop(queue)
    if time > deadline:
      return taken, deadline, len(asked) - len(taken)
    taken.append(client)
    now = time
  return taken, now, len(asked) - len(taken)


class DeadlineTest(absltest.TestCase):
  @settings(max_examples=60, deadline=None)
  @given(
    seed=st.integers(0, 2**30),
    size=st.integers(1, 10),
    more=st.integers(0, 10),
    seconds=st.sampled_from([0.05, 0.5, 1.0, 3.0, 50.0]),
    dropout=st.sampled_from([0.0, 0.6]),
    cost=st.sampled_from([0.0, 10.0]),
  )
  def test_equals_a_simulation_of_events(
    self, seed, size, more, seconds, dropout, cost
  ):
    speeds = client_speeds.dynamic_exponential_speeds(
      seed=seed, scales=(0.5, 2.0)
    )
    asked = speed_participation.drop_out(
      participation.uniform_participation(
        _IDS, cohort_size=size + more, seed=seed
      ),
      dropout,
      seed=seed,
    )
    deadline = deadlines.Deadline(
      asked,
      size=size,
      seconds=seconds,
      speeds=speeds,
      communication_seconds=cost,
    )
    clock = round_hooks.SimulatedTime(deadline.round_seconds)
    total = 0.0
    for number in (1, 2, 3):
      times = dict(zip(asked(number), speeds(number, asked(number))))
      taken, end, lost = _simulate(
        asked(number), times, size=size, deadline=seconds
      )
      self.assertEqual(deadline(number), tuple(taken))
      round_ = training_runs.make_round(number, taken)
      for hook in (deadline, clock):
        hook.after_round(round_)
      clock.complete_row(round_)
      total += end + cost
      self.assertEqual(
        round_.row,
        {'simulated/lost_clients': lost, 'simulated/seconds': total},
      )

  def test_names_a_deadline_that_would_do(self):
    seconds = {'a': 3.0, 'b': 2.3456, 'c': 7.0}

    def build(limit):
      return deadlines.Deadline(
        lambda r: ('ac', 'bc')[r - 1],
        size=1,
        seconds=limit,
        speeds=lambda _, ids: np.array([seconds[c] for c in ids]),
      )

    with self.assertRaisesRegex(
      errors.InputError,
      '^The deadline must be 2.35 seconds .* 2 rounds, got 2',
    ):
      build(2.0).check(2)
    build(2.35).check(2)
    # A client may answer at the deadline, and messages take no time by default.
    build(2.3456).check(2)
    self.assertEqual(build(3.0).round_seconds(1, 'a'), 3.0)
    with self.assertRaisesRegex(errors.InputError, 'must be 3 seconds'):
      build(2.35).check(1)

  def test_checks_only_so_many_rounds(self):
    deadline = deadlines.Deadline(
      lambda _: 'a', size=1, seconds=1.0, speeds=lambda *_: np.array([2.0])
    )
    with self.assertRaisesRegex(errors.InputError, 'in 10000 rounds, got 1'):
      deadline.check(10**9)

  def test_refuses(self):
    for seconds in (0.0, np.inf, np.nan):
      with self.assertRaisesRegex(
        errors.InputError, f'positive number, got {seconds}'
      ):
        deadlines.Deadline(
          lambda _: _IDS, size=1, seconds=seconds, speeds=lambda *_: np.ones(20)
        )
