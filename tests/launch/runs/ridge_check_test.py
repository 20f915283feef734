# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the comparison of a run with scikit-learn's Ridge."""

import asyncio
import collections
import pathlib
import tempfile

from fedfish_tff import errors
from fedfish_tff import simulation
from launch.methods import config_checks
from launch.runs import experiment as experiment_lib
from launch.runs import ridge_check
from launch.runs import run_options
from launch.runs import training_run
from tests.launch import small_configs

from absl.testing import parameterized
import numpy as np
import pytest


def _config(variant='fed3r', **changes):
  return small_configs.make_config(
    variant, **{'algorithm.accumulator': 'float64', **changes}
  )


class CheckRunTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.enterClassContext(small_configs.built_once())
    cls.folder = pathlib.Path(
      cls.enterClassContext(tempfile.TemporaryDirectory())
    )
    cls.config = _config()
    cls.task = experiment_lib.create_task(config_checks.read(cls.config))
    cls._train(cls.config, 'whole')

  @classmethod
  def _train(cls, config, name):
    training_run.train_task(
      config_checks.read(config),
      cls.task,
      run_options.RunOptions(workdir=cls.folder / name, progress_bar=False),
      plots=False,
    )
    return cls.folder / name

  def test_a_run_passes(self):
    difference = ridge_check.check_run(
      config_checks.read(self.config), self.task, self.folder / 'whole'
    )
    self.assertBetween(difference, 0, ridge_check.TOLERANCE)

  @parameterized.parameters(('centered', True), ('none', False))
  @pytest.mark.thorough
  def test_other_options_pass(self, bias, normalize_classes):
    config = _config(
      **{
        'algorithm.bias': bias,
        'algorithm.normalize_classes': normalize_classes,
        'algorithm.regularization': 2.0,
      }
    )
    ridge_check.check_run(
      config_checks.read(config), self.task, self._train(config, bias)
    )

  def _tamper(self, name, change):
    """Writes the run's last checkpoint with a sum changed; returns a workdir."""
    workdir = self.folder / f'{name}_{change}'
    result = simulation.load_result(
      experiment_lib.build_experiment_of(
        config_checks.read(self.config), self.task
      ).process,
      simulation.CheckpointManager(self.folder / 'whole' / 'checkpoints'),
    )
    statistics = collections.OrderedDict(result.state['statistics'])
    statistics[name] = np.array(statistics[name])
    statistics[name][0, 0] *= change
    # As the training loop writes it.
    loop_state = collections.OrderedDict(
      process=collections.OrderedDict(result.state, statistics=statistics),
      totals=collections.OrderedDict(
        (name, np.asarray(total)) for name, total in result.totals.items()
      ),
    )
    manager = simulation.CheckpointManager(workdir / 'checkpoints')
    asyncio.run(manager.save(loop_state, result.round_number))
    return workdir

  @parameterized.parameters('moments', 'gram')
  def test_sums_that_are_not_those_of_the_examples(self, name):
    """A thousandth more of one sum, as if a client's had been wrong."""
    workdir = self._tamper(name, 1.001)
    with self.assertRaisesRegex(
      ridge_check.RidgeMismatchError,
      rf"{workdir} differs from scikit-learn's Ridge on the same 1080 examples "
      r'by \d\.\de-0\d of its largest weight; at most 1e-05 was expected\.$',
    ):
      ridge_check.check_run(config_checks.read(self.config), self.task, workdir)

  def test_weights_that_are_no_numbers(self):
    workdir = self._tamper('moments', np.nan)
    with self.assertRaisesRegex(ridge_check.RidgeMismatchError, 'by nan of'):
      ridge_check.check_run(config_checks.read(self.config), self.task, workdir)

  @pytest.mark.thorough
  def test_rejects_a_run_that_has_not_seen_all(self):
    config = _config(rounds=2)
    with self.assertLogs(level='WARNING'):
      workdir = self._train(config, 'short')
    with self.assertRaisesRegex(
      errors.InputError,
      r'all training examples, but 6 of 8 clients come, with max_examples_per_c',
    ):
      ridge_check.check_run(config_checks.read(config), self.task, workdir)

  @parameterized.parameters('fed3r_rf', 'fed_ncm', 'fed_avg')
  def test_rejects_other_methods(self, variant):
    with self.assertRaisesRegex(
      errors.InputError, f'compares a ridge .*, but the run is of {variant}:'
    ):
      ridge_check.check_run(small_configs.read_config(variant), self.task, 'w')
