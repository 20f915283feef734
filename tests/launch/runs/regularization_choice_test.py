# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the choice of lambda on validation clients."""

import csv

from fedfish_tff import simulation
from launch.methods import config_checks
from launch.runs import experiment as experiment_lib
from launch.runs import regularization_choice
from tests.launch import small_configs
from tests.launch.methods import solved

import numpy as np
import pytest
from sklearn import linear_model

_LAMBDAS = (1000.0, 0.01, 1.0, 100.0)


def _config(**changes):
  return small_configs.make_config(
    'fed3r',
    **{
      'algorithm.regularization': 5.0,
      'algorithm.regularization_path': _LAMBDAS,
      **changes,
    },
  )


def _accuracies(task, bias):
  """Returns what scikit-learn's Ridge reaches on validation clients."""
  kernel, offset = task.feature_map.initial_weights
  (x, y), (held_out, labels) = (
    solved.pool(task.train),
    solved.pool(task.validation),
  )

  def features(x):
    features = np.maximum(x @ kernel + offset, 0).astype(np.float64)
    regularized = bias == 'regularized'
    return np.c_[features, np.ones(len(x))] if regularized else features

  targets = np.eye(small_configs.NUM_CLASSES)[y]
  accuracies = {}
  for regularization in _LAMBDAS:
    ridge = linear_model.Ridge(
      alpha=regularization, fit_intercept=bias == 'centered'
    ).fit(features(x), targets)
    found = np.argmax(ridge.predict(features(held_out)), axis=1)
    accuracies[regularization] = np.mean(found == labels)
  return accuracies


class ChoiceTest(small_configs.TestCase):
  def test_is_that_of_a_recomputation(self):
    self._check_choice('regularized')

  @pytest.mark.thorough
  def test_a_centered_bias(self):
    self._check_choice('centered')

  def _check_choice(self, bias):
    config = _config(
      **{'algorithm.bias': bias, 'algorithm.normalize_classes': False}
    )
    experiment = experiment_lib.build_experiment(config_checks.read(config))
    expected = _accuracies(experiment.task, bias)
    best = max(expected, key=expected.get)
    # Else the choice would not be seen.
    self.assertLen(set(expected.values()), len(_LAMBDAS))
    summary = small_configs.train_task(config, experiment.task, self.workdir)
    with open(
      self.workdir / regularization_choice.FILE_NAME, newline=''
    ) as file:
      header, *rows = csv.reader(file)
    self.assertEqual(header, ['regularization', 'eval/global/accuracy'])
    self.assertEqual([float(row[0]) for row in rows], list(_LAMBDAS))
    np.testing.assert_allclose(
      [float(row[1]) for row in rows], list(expected.values()), rtol=1e-6
    )
    # The model with it is evaluated, and in the checkpoint.
    self.assertEqual(summary['regularization'], best)
    self.assertAlmostEqual(
      summary['final']['eval/global/accuracy'], expected[best], places=6
    )
    result = simulation.load_result(
      experiment.process,
      simulation.CheckpointManager(self.workdir / 'checkpoints'),
    )
    hparams = experiment.process.get_hparams(result.state)
    self.assertEqual(hparams['regularization'], best)
    # A run that has ended chooses no more.
    (self.workdir / regularization_choice.FILE_NAME).unlink()
    small_configs.train_task(config, experiment.task, self.workdir)
    self.assertFalse((self.workdir / regularization_choice.FILE_NAME).exists())
    self.assertEqual(simulation.Workdir(self.workdir).read_summary(), summary)

  @pytest.mark.thorough
  def test_a_lambda_without_solution_is_left_out(self):
    # A pixel that is blank in all images makes A singular.
    config = _config(
      **{
        'task.hidden_units': (),
        'algorithm.accumulator': 'float64',
        'algorithm.regularization_path': (0.0, 0.1),
      }
    )
    task = experiment_lib.create_task(config_checks.read(config))
    self.assertTrue(np.any(np.all(solved.pool(task.train)[0] == 0, axis=0)))
    with self.assertLogs(level='WARNING') as logs:
      summary = small_configs.train_task(config, task, self.workdir)
    self.assertIn('left out of the choice', ' '.join(logs.output))
    self.assertEqual(summary['regularization'], 0.1)
    text = (self.workdir / regularization_choice.FILE_NAME).read_text()
    self.assertIn('\n0.0,\n0.1,0.', text)
