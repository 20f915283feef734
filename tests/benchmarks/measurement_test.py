# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Measurements run in a process of their own, on the cores asked for."""

import itertools
import os
import time
from unittest import mock

from benchmarks import measurement
from benchmarks import rounds

from absl.testing import absltest
import pytest


class MeasurementTest(absltest.TestCase):
  def test_measures_rounds_and_the_first_one(self):
    now = 0.0
    order = []
    cores = sorted(os.sched_getaffinity(0))

    def build(name):
      """Starts in 100 seconds; a first round takes 50, a later one 2 or 3."""

      def initialize():
        nonlocal now
        now += 100.0
        order.append(name)
        seconds = itertools.chain(
          [50.0], itertools.repeat({'bare': 3.0, 'cohort': 2.0}[name])
        )

        def run():
          nonlocal now
          now += next(seconds)

        return run

      return initialize

    with (
      mock.patch.object(rounds, 'Rounds', autospec=True) as built,
      mock.patch.object(
        time, 'perf_counter', autospec=True, side_effect=lambda: now
      ),
      mock.patch.object(os, 'sched_setaffinity', autospec=True) as set_cores,
    ):
      built.return_value.build.side_effect = build
      built.return_value.general_path_reasons = ('a reason',)
      result = measurement.measure(
        'softmax', num_clients=2, rows=['bare', 'cohort'], repeats=1, cores=1
      )
    self.assertEqual(result.seconds, {'bare': 3.0, 'cohort': 2.0})
    self.assertEqual(result.first_round_seconds, 150.0)
    self.assertEqual(result.general_path_reasons, ('a reason',))
    self.assertEqual(order, ['cohort', 'bare'])
    built.return_value.close.assert_called_once_with()
    set_cores.assert_called_once_with(0, cores[:1])

  @pytest.mark.slow
  def test_in_a_new_process(self):
    cores = os.sched_getaffinity(0)
    result = measurement.in_new_process(
      workload='softmax',
      num_clients=2,
      rows=['bare', 'cohort'],
      repeats=1,
      cores=1,
    )
    self.assertEqual(list(result.seconds), ['bare', 'cohort'])
    self.assertEqual(result.general_path_reasons, [])
    self.assertEqual(os.sched_getaffinity(0), cores)


class MeasureInTurnsTest(absltest.TestCase):
  def _measure(self, durations):
    """Measures rows that take seconds of a clock of our own."""
    now = 0.0
    calls = []

    def take(name):
      nonlocal now
      now += durations[name][calls.count(name)]
      calls.append(name)

    rows = {name: lambda name=name: take(name) for name in durations}
    with mock.patch.object(
      time, 'perf_counter', autospec=True, side_effect=lambda: now
    ):
      return measurement.measure_in_turns(rows, repeats=3), ''.join(calls)

  def test_medians_of_turns(self):
    medians, calls = self._measure({'a': [1, 5, 2], 'b': [3, 3, 4]})
    self.assertEqual(calls, 'ababab')
    self.assertEqual(medians, {'a': 2, 'b': 3})

  def test_slow_rows_are_left_out_of_later_turns(self):
    medians, calls = self._measure({'a': [1, 1, 1], 'b': [9, 9, 9]})
    self.assertEqual(calls, 'abaa')
    self.assertEqual(medians, {'a': 1, 'b': 9})
