# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Measurements run in a process of their own, on the cores asked for."""

import itertools
import os
import time
from unittest import mock

from fedfish_tff import errors
from launch.benchmarks import measurement
from launch.benchmarks import rounds

from absl.testing import absltest
import pytest


class MeasurementTest(absltest.TestCase):
  def test_measures_rounds_and_the_first_one(self):
    now = 0.0
    order = []

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
      answer = measurement.measure(
        'softmax', num_clients=2, rows=['bare', 'cohort'], repeats=1, cores=1
      )
    self.assertGreater(answer.pop('peak_bytes'), 50e6)
    self.assertEqual(
      answer,
      {
        'seconds': {'bare': 3.0, 'cohort': 2.0},
        'first_round_seconds': 150.0,
        'general_path_reasons': ('a reason',),
      },
    )
    self.assertEqual(order, ['cohort', 'bare'])
    built.return_value.close.assert_called_once_with()
    set_cores.assert_called_once_with(0, measurement.available_cores()[:1])

  @pytest.mark.thorough
  def test_in_a_child(self):
    cores = measurement.available_cores()
    result = measurement.measure_in_child(
      'softmax', num_clients=2, rows=['bare', 'cohort'], repeats=1, cores=1
    )
    self.assertEqual(list(result.seconds), ['bare', 'cohort'])
    self.assertGreater(result.peak_bytes, 50e6)
    self.assertEqual(result.general_path_reasons, ())
    self.assertEqual(measurement.available_cores(), cores)

  def test_more_cores_than_there_are(self):
    measurement.check_cores(1)
    with self.assertRaisesRegex(errors.InputError, '--cores'):
      measurement.check_cores(os.cpu_count() + 1)
