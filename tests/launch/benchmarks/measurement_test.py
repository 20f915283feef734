# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Measurements run in a process of their own, on the cores asked for."""

import os

from fedfish_tff import errors
from launch.benchmarks import measurement

from absl.testing import absltest


def _request(**changes):
  fields = dict(
    workload='softmax', num_clients=2, num_examples=20, cores=1, repeats=1
  )
  return measurement.Request(**{**fields, **changes})


class MeasurementTest(absltest.TestCase):
  def test_rows_and_first_round(self):
    cores = measurement.available_cores()
    result = measurement.measure_in_child(_request(rows=('bare', 'cohort')))
    self.assertEqual(list(result.seconds), ['bare', 'cohort'])
    self.assertGreater(min(result.seconds.values()), 0)
    self.assertGreater(result.first_round_seconds, result.seconds['cohort'])
    self.assertGreater(result.peak_bytes, 50e6)
    self.assertEqual(result.general_path_reasons, ())
    self.assertEqual(measurement.available_cores(), cores)

  def test_failure_of_the_process(self):
    with self.assertRaisesRegex(RuntimeError, 'no_such_row'):
      measurement.measure_in_child(_request(rows=('no_such_row',)))

  def test_more_cores_than_there_are(self):
    measurement.check_cores(1)
    with self.assertRaisesRegex(errors.InputError, '--cores'):
      measurement.check_cores(os.cpu_count() + 1)


if __name__ == '__main__':
  absltest.main()
