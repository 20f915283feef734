# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Measurements run in a process of their own, on the cores asked for."""

import contextlib
import dataclasses
import io
import itertools
import json
import os
import time
from unittest import mock

from fedfish_tff import errors
from launch.benchmarks import measurement
from launch.benchmarks import process_memory
from launch.benchmarks import rows as rows_lib

from absl.testing import absltest
import pytest


def _request(**changes):
  fields = dict(
    workload='softmax', num_clients=2, num_examples=20, cores=1, repeats=1
  )
  return measurement.Request(**{**fields, **changes})


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

    request = json.dumps(dataclasses.asdict(_request(rows=('bare', 'cohort'))))
    with (
      mock.patch.object(rows_lib, 'Rows', autospec=True) as rows,
      mock.patch.object(
        time, 'perf_counter', autospec=True, side_effect=lambda: now
      ),
      mock.patch.object(
        process_memory,
        'peak_resident_bytes',
        autospec=True,
        return_value=10**9,
      ),
      mock.patch.object(os, 'sched_setaffinity', autospec=True) as set_cores,
      contextlib.redirect_stdout(io.StringIO()) as output,
    ):
      rows.return_value.build.side_effect = build
      rows.return_value.general_path_reasons = ('a reason',)
      measurement.main(['measurement', request])
    self.assertEqual(
      json.loads(output.getvalue()),
      {
        'seconds': {'bare': 3.0, 'cohort': 2.0},
        'first_round_seconds': 150.0,
        # Without 20 images and labels of each of two clients.
        'peak_bytes': 10**9 - 2 * 20 * (784 * 4 + 4),
        'general_path_reasons': ['a reason'],
      },
    )
    self.assertEqual(order, ['cohort', 'bare'])
    rows.return_value.close.assert_called_once_with()
    set_cores.assert_called_once_with(0, measurement.available_cores()[:1])

  @pytest.mark.thorough
  def test_in_a_child(self):
    cores = measurement.available_cores()
    result = measurement.measure_in_child(_request(rows=('bare', 'cohort')))
    self.assertEqual(list(result.seconds), ['bare', 'cohort'])
    self.assertGreater(result.peak_bytes, 50e6)
    self.assertEqual(result.general_path_reasons, ())
    self.assertEqual(measurement.available_cores(), cores)

  @pytest.mark.thorough
  def test_failure_of_the_process(self):
    with self.assertRaisesRegex(RuntimeError, 'no_such_row'):
      measurement.measure_in_child(_request(rows=('no_such_row',)))

  def test_more_cores_than_there_are(self):
    measurement.check_cores(1)
    with self.assertRaisesRegex(errors.InputError, '--cores'):
      measurement.check_cores(os.cpu_count() + 1)


if __name__ == '__main__':
  absltest.main()
