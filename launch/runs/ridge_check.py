# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A comparison of Fed3R's classifier with scikit-learn's on all examples."""

import os
import pathlib

from fedfish_tff import errors
from fedfish_tff import simulation
from launch.methods import config as config_lib
from launch.methods import participation
from launch.runs import experiment as experiment_lib
from tasks.task import Task

import numpy as np
from sklearn import linear_model

# Relative to the largest weight; rounding of float64 sums and float32 weights
# leaves 1e-7.
TOLERANCE = 1e-5


class RidgeMismatchError(RuntimeError):
  """A difference from the centralised classifier: a defect, not bad input."""


def check_config(config: config_lib.Config, task: Task) -> None:
  """Checks that a run can be compared once it is finished.

  Args:
    config: The config of the run.
    task: The task of the run.

  Raises:
    errors.InputError: If the run is of another method, or will not see all
      examples.
  """
  method = config.method
  if 'ridge_check' not in method.supports:
    raise errors.InputError(
      f'check_ridge compares a ridge regression, but the run is of '
      f'{method.name}: {method.why_not("ridge_check")}.'
    )
  num_coming = experiment_lib.count_coming_clients(
    participation.create_participation(config, task), config.rounds
  )
  num_clients = len(task.train.client_ids)
  if num_coming < num_clients or config.max_examples_per_client:
    raise errors.InputError(
      'check_ridge compares the classifier of all training examples, but '
      f'{num_coming} of {num_clients} clients come, with '
      f'max_examples_per_client {config.max_examples_per_client}; all and 0 '
      'were expected.'
    )


def check_run(
  config: config_lib.Config, task: Task, workdir: str | os.PathLike[str]
) -> float:
  """Compares a finished run of Fed3R with a centralised ridge regression.

  Args:
    config: The config of a run of fed3r in which all clients came.
    task: The task of the run.
    workdir: The workdir of the run.

  Returns:
    The largest difference between weights, relative to the largest weight.

  Raises:
    errors.InputError: If the run is of another method, or has not seen all
      clients.
    RidgeMismatchError: If that difference is above `TOLERANCE`.
  """
  check_config(config, task)
  algorithm = config.algorithm
  experiment = experiment_lib.build_experiment_of(config, task)
  folder = simulation.Workdir(pathlib.Path(workdir))
  result = simulation.load_result(
    experiment.process,
    simulation.CheckpointManager(
      folder.checkpoints_path, run_digests=folder.digests
    ),
  )
  examples = [
    task.train.load_client(client_id) for client_id in task.train.client_ids
  ]
  feature_map = experiment.built.feature_map
  features = feature_map(
    feature_map.initial_weights, np.concatenate([x for x, _ in examples])
  ).numpy()
  labels = np.concatenate([y for _, y in examples])
  *_, kernel, bias = experiment.process.get_model_weights(
    result.state
  ).trainable
  expected = _fit(
    features.astype(np.float64),
    np.eye(len(bias))[labels],
    algorithm,
    float(experiment.process.get_hparams(result.state)['regularization']),
  )
  difference = max(
    float(np.max(np.abs(ours - theirs)) / np.max(np.abs(expected[0])))
    for ours, theirs in zip((np.asarray(kernel), np.asarray(bias)), expected)
  )
  if not difference <= TOLERANCE:
    raise RidgeMismatchError(
      f"The classifier of {workdir} differs from scikit-learn's Ridge on the "
      f'same {len(labels)} examples by {difference:.1e} of its largest weight; '
      f'at most {TOLERANCE:.0e} was expected.'
    )
  return difference


def _fit(
  features: np.ndarray,
  targets: np.ndarray,
  algorithm: config_lib.Values,
  regularization: float,
) -> tuple[np.ndarray, np.ndarray]:
  """Returns scikit-learn's kernel and bias."""
  regularized = algorithm.bias == 'regularized'
  if regularized:
    features = np.pad(features, ((0, 0), (0, 1)), constant_values=1.0)
  ridge = linear_model.Ridge(
    alpha=regularization,
    fit_intercept=algorithm.bias == 'centered',
    solver='cholesky',
  ).fit(features, targets)
  kernel = ridge.coef_.T
  bias = np.broadcast_to(ridge.intercept_, targets.shape[1:])
  if regularized:
    kernel, bias = kernel[:-1], kernel[-1]
  if algorithm.normalize_classes:
    norms = np.linalg.norm(kernel, axis=0)
    # A class without examples has weights of zero.
    norms[norms == 0] = 1
    kernel, bias = kernel / norms, bias / norms
  return kernel, bias
