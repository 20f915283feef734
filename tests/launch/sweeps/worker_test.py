# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the work of a sweep's worker, on a tiny run."""

import dataclasses

from fedfish_tff import trust
from launch.configs import toy_regression
from launch.sweeps import worker
from tests.launch import small_configs


class WorkerTest(small_configs.TestCase):
  def test_trains_and_evaluates(self):
    config = toy_regression.get_config('fed_avg')
    config.local_epochs = 2
    config.task.num_examples = 20
    config.evaluation.personalization_epochs = 0
    config.evaluation.barrier = False
    workdir = self.folder / 'runs' / 'a'
    arguments = dict(
      config=config.to_dict(),
      workdir=str(workdir),
      data_dir=None,
      trust=dataclasses.asdict(trust.PYTHON),
      starts={},
    )
    worker.train(**arguments, is_trained=False, evaluated=False)
    summary = workdir / 'summary.json'
    before = summary.stat().st_mtime_ns
    self.assertFalse((workdir / 'evaluation').exists())
    # A trained run is not trained again.
    worker.train(**arguments, is_trained=True, evaluated=True)
    self.assertEqual(summary.stat().st_mtime_ns, before)
    self.assertTrue((workdir / 'evaluation' / 'summary.csv').exists())
