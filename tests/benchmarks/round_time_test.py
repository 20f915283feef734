# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rows take turns."""

from unittest import mock

from benchmarks import round_time

from absl.testing import absltest


class RoundTimeTest(absltest.TestCase):
  def _measure(self, durations, **kwargs):
    """Measures rows that take seconds of a clock of our own."""
    now = 0.0
    calls = []

    def take(name):
      nonlocal now
      now += durations[name][calls.count(name)]
      calls.append(name)

    rows = {name: lambda name=name: take(name) for name in durations}
    with mock.patch.object(round_time, 'time', autospec=True) as time:
      time.perf_counter.side_effect = lambda: now
      return round_time.measure_in_turns(rows, **kwargs), ''.join(calls)

  def test_medians_of_turns(self):
    medians, calls = self._measure(
      {'a': [1, 5, 2], 'b': [3, 3, 4]}, repeats=3, enough_seconds=100
    )
    self.assertEqual(calls, 'ababab')
    self.assertEqual(medians, {'a': 2, 'b': 3})

  def test_slow_rows_are_left_out_of_later_turns(self):
    medians, calls = self._measure(
      {'a': [1, 1, 1], 'b': [9, 9, 9]}, repeats=3, enough_seconds=8
    )
    self.assertEqual(calls, 'abaa')
    self.assertEqual(medians, {'a': 1, 'b': 9})
