# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the order of jobs; those of process_pool run them."""

import pathlib

from launch.sweeps import runner
from launch.sweeps import worker

from absl.testing import absltest


def _job(name, **changes):
  return worker.Job(
    name=name,
    function=print,
    arguments={},
    log_path=pathlib.Path('log'),
    **changes,
  )


class ChooseTest(absltest.TestCase):
  def test_groups_without_a_process_come_first(self):
    a1, a2, b1 = (_job(name, group=name[0]) for name in ('a1', 'a2', 'b1'))
    self.assertEqual(runner.choose([a1, a2, b1], []), a1)
    self.assertEqual(runner.choose([a2, b1], [a1]), b1)
    self.assertEqual(runner.choose([a2], [a1, b1]), a2)
