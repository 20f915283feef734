# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The classifiers on features of digits, and Fed3R against scikit-learn's."""

import pathlib

from fedfish_tff import simulation
from launch.configs import features
from launch.configs import fed3r_digits
from launch.methods import config_checks
from launch.runs import experiment as experiment_lib
from tests.launch import small_configs

from absl.testing import absltest
import numpy as np
from sklearn import linear_model

# Rounding of float64 sums and float32 weights leaves 1e-7 of the largest weight.
_TOLERANCE = 1e-5


class Fed3rDigitsTest(absltest.TestCase):
  def test_runs_are_of_the_same_clients(self):
    tasks = [
      fed3r_digits.get_config(run.variant).task
      for run in fed3r_digits.sweep('methods')
    ]
    self.assertLen(tasks, 7)
    for task in tasks:
      self.assertEqual(task, tasks[0])

  def test_sums_are_exact_enough_to_be_compared(self):
    for variant in features.VARIANTS:
      config = fed3r_digits.get_config(variant).to_dict()
      algorithm = config['algorithm']
      if 'fine_tuning' in config:
        algorithm = config['fine_tuning']['start']
      self.assertEqual(algorithm.get('accumulator', 'float64'), 'float64')

  def test_a_run_equals_ridge_regression_on_all_examples(self):
    config = fed3r_digits.get_config('fed3r').to_dict()
    folder = simulation.Workdir(pathlib.Path(self.create_tempdir()))
    small_configs.train(config, folder.path)
    config = config_checks.read(config)
    experiment = experiment_lib.build_experiment(config)
    result = simulation.load_result(
      experiment.process,
      simulation.CheckpointManager(
        folder.checkpoints_path, run_digests=folder.digests
      ),
    )
    *_, kernel, bias = experiment.process.get_model_weights(
      result.state
    ).trainable
    train = experiment.task.train
    images, labels = zip(*map(train.load_client, train.client_ids))
    feature_map = experiment.task.feature_map
    inputs = feature_map(feature_map.initial_weights, np.concatenate(images))
    # The bias is the weight of a constant feature, as in the published code.
    ridge = linear_model.Ridge(
      alpha=config.algorithm.regularization,
      fit_intercept=False,
      solver='cholesky',
    ).fit(
      np.pad(np.float64(inputs), ((0, 0), (0, 1)), constant_values=1.0),
      np.eye(10)[np.concatenate(labels)],
    )
    weights = ridge.coef_.T
    weights /= np.linalg.norm(weights[:-1], axis=0)
    np.testing.assert_allclose(
      np.vstack([kernel, bias]),
      weights,
      rtol=0,
      atol=_TOLERANCE * np.max(np.abs(weights[:-1])),
    )
