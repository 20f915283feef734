# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""When runs are as good as all of them are."""

import pathlib

from launch.results import run_reader
from launch.results import time_to_reach

from absl.testing import absltest
import numpy as np

_METRIC = 'eval/own/accuracy'


def _run(seconds, values, metric=_METRIC):
  return run_reader.Run(
    workdir=pathlib.Path('run'),
    config={},
    columns={
      'round': np.arange(len(values)),
      'simulated/seconds': np.array(seconds, float),
      metric: np.array(values, float),
    },
  )


class TimeToReachTest(absltest.TestCase):
  def test_first_time(self):
    run = _run([0, 10, 20, 30], [0.1, 0.5, 0.4, 0.6])
    targets = ((0.1, 0), (0.45, 10), (0.5 + 1e-8, 10), (0.55, 30), (0.7, None))
    for target, expected in targets:
      self.assertEqual(
        time_to_reach.seconds_to_reach(run, _METRIC, target), expected
      )

  def test_table(self):
    runs = {
      'slow': _run([0, 10, 20], [0.1, np.nan, 0.8]),
      'fast': _run([0, 1, 2], [0.1, 0.85, 0.7]),
      'untimed': _run([], []),
    }
    lines = time_to_reach.format_table(runs, _METRIC).splitlines()
    self.assertEqual(
      [line.split() for line in lines],
      [
        'run simulated seconds best seconds until 0.8000'.split(),
        ['slow', '20.0', '0.8000', '20.0'],
        ['fast', '2.0', '0.8500', '1.0'],
      ],
    )

  def test_less_is_better(self):
    metric = 'eval/global/mse'
    runs = {
      'good': _run([0, 1, 2], [5, 2, 0.5], metric),
      'bad': _run([0, 10, 20], [5, 4, 2], metric),
    }
    lines = time_to_reach.format_table(runs, metric).splitlines()
    self.assertEqual(
      [line.split() for line in lines[1:]],
      [
        ['good', '2.0', '0.5000', '1.0'],
        ['bad', '20.0', '2.0000', '20.0'],
      ],
    )
