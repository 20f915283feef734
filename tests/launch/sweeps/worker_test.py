# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the work of a sweep's worker, on a tiny run."""

import dataclasses

from fedfish_tff import errors
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

  def test_a_warm_start_is_trusted_no_more_than_the_sweep_says(self):
    other = self.folder / 'other'
    other.mkdir()
    config = toy_regression.get_config('fed_avg')
    config.algorithm.name = 'nowhere_at_all:METHOD'
    (other / 'config.json').write_text(config.to_json())
    config = toy_regression.get_config('fed_avg,warm_start=model')
    config.warm_start.path = str(other)
    for trusted, message in (
      (trust.Trust(saved_models=True), 'only with --trust_modules'),
      (trust.Trust(json_modules=True), 'No module named .nowhere_at_all'),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        worker.train(
          config=config.to_dict(),
          workdir=str(self.folder / 'runs' / 'b'),
          data_dir=None,
          trust=dataclasses.asdict(trusted),
          starts={},
          is_trained=False,
          evaluated=False,
        )
