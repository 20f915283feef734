# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of asynchronous rounds against simulations of their clients."""

import collections
import math

from fedfish_tff import errors
from fedfish_tff.simulation import asynchronous
from fedfish_tff.simulation import client_speeds
from fedfish_tff.simulation import round_hooks
from tests import training_runs

from absl.testing import absltest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np

_IDS = tuple(f'client {i:02}' for i in range(12))


def _create(**changes):
  return asynchronous.Asynchronous(
    _IDS,
    **{
      'size': 3,
      'concurrency': 6,
      'max_staleness': 100,
      'speeds': client_speeds.dynamic_exponential_speeds(seed=1),
      'seed': 2,
    }
    | changes,
  )


def _simulate(speeds, *, size, communication, steps):
  """Yields (answers, staleness, time) where all clients are always at work."""
  begun = dict.fromkeys(_IDS, (0, 0.0))
  for step in range(steps):
    ends = {
      c: start + float(speeds(version + 1, [c])[0]) + communication
      for c, (version, start) in begun.items()
    }
    answers = sorted(ends, key=ends.get)[:size]
    now = ends[answers[-1]]
    yield answers, [step - begun[c][0] for c in answers], now
    # Nobody else is left to begin, so that all wait for the step.
    begun.update(dict.fromkeys(answers, (step + 1, now)))


def _count_lost(found, number):
  row = training_runs.make_round(number, ())
  found.after_round(row)
  assert found.num_lost(number) == row.row['simulated/lost_clients']
  return row.row['simulated/lost_clients']


class AsynchronousTest(absltest.TestCase):
  @settings(max_examples=40, deadline=None)
  @given(
    seed=st.integers(0, 2**30),
    size=st.integers(1, len(_IDS)),
    communication=st.sampled_from([0.0, 10.0]),
    is_dynamic=st.booleans(),
  )
  def test_equals_a_simulation_of_all_clients(
    self, seed, size, communication, is_dynamic
  ):
    speeds = (
      client_speeds.dynamic_exponential_speeds
      if is_dynamic
      else client_speeds.fixed_exponential_speeds
    )(seed=seed)
    found = _create(
      size=size,
      concurrency=len(_IDS),
      speeds=speeds,
      communication_seconds=communication,
    )
    clock = round_hooks.SimulatedTime(found.round_seconds)
    expected = _simulate(
      speeds, size=size, communication=communication, steps=20
    )
    for number, (answers, staleness, now) in enumerate(expected, start=1):
      row = training_runs.make_round(number, answers)
      self.assertEqual(found(number), tuple(answers))
      self.assertEqual(list(found.staleness(number).values()), staleness)
      found.after_round(row)
      clock.after_round(row)
      clock.complete_row(row)
      self.assertAlmostEqual(row.row['simulated/seconds'], now, places=6)
      self.assertEqual(
        row.row['simulated/staleness_median'], np.median(staleness)
      )
      self.assertEqual(row.row['simulated/staleness_largest'], max(staleness))
      self.assertEqual(row.row['simulated/lost_clients'], 0)

  @settings(max_examples=40, deadline=None)
  @given(
    seed=st.integers(0, 2**30),
    size=st.integers(1, 6),
    more=st.integers(0, 6),
    max_staleness=st.sampled_from([0, 1, 3, 100]),
  )
  def test_some_clients_are_at_work(self, seed, size, more, max_staleness):
    options = dict(
      size=size,
      concurrency=size + more,
      seed=seed,
      max_staleness=max_staleness,
    )
    found, again = _create(**options), _create(**options)
    # Asked for out of order, a round is the same.
    self.assertEqual(found(30), [again(r) for r in range(1, 31)][-1])
    begun = collections.Counter()
    for number in range(1, 31):
      staleness = found.staleness(number)
      self.assertLen(staleness, size)
      self.assertGreaterEqual(found.round_seconds(number, ()), 0)
      self.assertLessEqual(max(staleness.values()), max_staleness)
      begun.update(number - 1 - s for s in staleness.values())
      if max_staleness == 100:
        self.assertEqual(_count_lost(found, number), 0)
    # After a step, at most as many clients begin as make room.
    self.assertLessEqual(begun[0], size + more + size - 1)
    if max_staleness == 100:
      for step in range(1, 31):
        self.assertLessEqual(begun[step], 2 * size)

  def test_all_clients_come(self):
    found = _create(concurrency=4)
    seen = collections.Counter(c for r in range(1, 201) for c in found(r))
    self.assertLen(seen, len(_IDS))
    self.assertGreater(min(seen.values()), 20)

  def test_equal_speeds_without_others_are_synchronous(self):
    found = _create(concurrency=3, speeds=lambda _, ids: np.ones(len(ids)))
    for number in range(1, 6):
      self.assertEqual(set(found.staleness(number).values()), {0})
      self.assertEqual(found.round_seconds(number, ()), 1)

  def test_answers_of_one_moment_come_before_others_begin(self):
    found = _create(speeds=lambda _, ids: np.ones(len(ids)))
    self.assertEqual(
      [
        (set(found.staleness(r).values()), found.round_seconds(r, ()))
        for r in range(1, 5)
      ],
      [({0}, 1.0), ({1}, 0.0), ({0}, 1.0), ({1}, 0.0)],
    )

  def test_late_answers_are_lost_and_counted(self):
    slow = np.array([1.0] * 11 + [9.5])
    found = _create(
      size=11,
      concurrency=12,
      max_staleness=8,
      speeds=lambda _, ids: slow[[_IDS.index(c) for c in ids]],
    )
    self.assertEqual(
      [_count_lost(found, r) for r in range(1, 12)], [0] * 9 + [1, 0]
    )
    self.assertNotIn(_IDS[-1], found(10))

  def test_a_client_begins_again_once_its_answer_is_lost(self):
    # Its answers come at 1.4, 2.8, 4.2 and 5.6, those of the others at 1, 2 ...
    found = asynchronous.Asynchronous(
      _IDS[:2],
      size=1,
      concurrency=2,
      max_staleness=0,
      speeds=lambda _, ids: np.array([1.0 + 0.4 * (c == _IDS[1]) for c in ids]),
      seed=0,
    )
    self.assertEqual(
      [_count_lost(found, r) for r in range(1, 7)], [0, 1, 1, 0, 1, 1]
    )

  def test_a_concurrency_that_cannot_be_is_refused(self):
    for concurrency in (2, 13):
      with self.assertRaisesRegex(
        errors.InputError,
        f'^concurrency must be at least 3.* got {concurrency}',
      ):
        _create(concurrency=concurrency)

  def test_arguments_with_which_no_step_would_come(self):
    for name, value in (
      ('size', 0),
      ('max_staleness', -1),
      ('communication_seconds', math.nan),
    ):
      with self.assertRaisesRegex(
        errors.InputError, f'^{name} must be .*, got {value}'
      ):
        _create(**{name: value})

  def test_the_store_has_the_next_staleness(self):
    found = _create()
    store = asynchronous.StalenessStore(found)
    for number in range(1, 9):
      staleness = found.staleness(number)
      for client in _IDS:
        self.assertEqual(
          store.load(client, 0, round_number=number - 1), staleness.get(client)
        )
    store.save(8, {_IDS[0]: np.int32(1)}, kept_rounds=[8])
    self.assertFalse(store.has_state(_IDS[0]))
    store.rewind(8, store.digest, [])
